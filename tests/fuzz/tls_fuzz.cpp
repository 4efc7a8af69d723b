#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "fuzz/require.hpp"
#include "support/allocated.hpp"
#include "support/tls_server.hpp"
#include "tls/contexts.hpp"

// The bytes below the TLS machine: a network that an attacker controls, between a channel and an
// honest server. The first byte chooses the version; then each byte is what the attacker sends,
// except for some that are orders:
//
//   FF      the server hears what the channel has sent
//   FE n    the next n bytes of the server arrive
//   FD n    the bits of n are flipped in the next byte of the server
//   FC n    the next n bytes of the server are lost
//   FB      all that the server has sent arrives
//   FA      the server says something
//   F9      the server asks to renegotiate        F8  it ends the connection
//   F7      the channel's user says something     F6  and ends the connection
//   F5      bytes go to and fro until there are none
//   EF b    the byte b itself
//
// Keys and random numbers are OpenSSL's own, so that an input need not do the same twice.
namespace quorumlock::fuzz {
namespace {

using tls::Channel;

constexpr std::size_t most_memory = 8U << 20;
constexpr std::size_t longest_sentence = 1000;
constexpr std::string_view said = "+PONG\r\n";

/// What all inputs share: making keys takes longer than the rest.
struct Shared {
  Shared() {
    certificates.issue("server");
    const TlsOptions options{.ca_file = certificates.ca()};
    contexts.take(options, tls::Files::read(options)).value();
  }
  test::Certificates certificates;
  tls::Contexts contexts;
};

Shared& shared() {
  static Shared one;
  return one;
}

class Network {
 public:
  explicit Network(bool is_1_2)
      : server_((shared().certificates.path("server.pem")),
                shared().certificates.path("server.key")),
        peer_((server_.speak_only(is_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION), server_)),
        channel_(shared()
                     .contexts
                     .connect({.ca_file = shared().certificates.ca()}, "localhost",
                              std::time(nullptr), last_)
                     .value()) {}

  void run(std::string_view input) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(input[i]);
      const auto argument = [&] {
        return static_cast<std::uint8_t>(++i < input.size() ? input[i] : 0);
      };
      switch (byte) {
        case 0xFF: hear(); break;
        case 0xFE: arrive(argument()); break;
        case 0xFD: flip(argument()); break;
        case 0xFC:
          sent().erase(0, argument());
          honest_ = false;
          break;
        case 0xFB: arrive(sent().size()); break;
        case 0xFA: say(); break;
        case 0xF9:
          SSL_renegotiate(peer_.ssl());
          SSL_do_handshake(peer_.ssl());
          break;
        case 0xF8: SSL_shutdown(peer_.ssl()); break;
        case 0xF7: channel_->write("PING\r\n"); break;
        case 0xF6: channel_->shut_down(); break;
        case 0xF5: talk(); break;
        case 0xEF:
          feed(std::string(1, static_cast<char>(argument())));
          honest_ = false;
          break;
        default: feed(input.substr(i, 1)); honest_ = false;
      }
    }
    talk();
  }

 private:
  std::string& sent() { return from_server_ += peer_.output(); }
  void hear() {
    peer_.feed(channel_->output());
    channel_->wrote(channel_->output().size());
  }
  void arrive(std::size_t most) {
    const std::string bytes = sent().substr(0, most);
    from_server_.erase(0, bytes.size());
    feed(bytes);
  }
  void flip(std::uint8_t bits) {
    if (sent().empty()) return;
    from_server_.front() = static_cast<char>(from_server_.front() ^ bits);
    honest_ = honest_ && bits == 0;
  }
  void say() {
    if (SSL_is_init_finished(peer_.ssl()) == 0 || SSL_get_shutdown(peer_.ssl()) != 0) return;
    peer_.say(said);
    all_said_ += said;
  }
  void talk() {
    for (int turns = 0; turns < 20; ++turns) {
      hear();
      arrive(sent().size());
    }
  }
  void feed(std::string_view bytes) {
    const Channel::State before = channel_->state();
    channel_->on_bytes(bytes);
    for (;;) {
      char plain[100];
      const std::size_t size = channel_->read(plain);
      if (size == 0) break;
      require(before != Channel::State::failed && before != Channel::State::closed,
              "there is text after the end");
      heard_.append(plain, size);
    }
    const Channel::State after = channel_->state();
    require(all_said_.starts_with(heard_), "the text is not what the server said");
    require(after != Channel::State::handshaking || before == after, "it begins anew");
    require(before != Channel::State::failed || after == before, "a failure is forgotten");
    if (after == Channel::State::failed) {
      require_sentence(channel_->why());
      require(channel_->why().size() <= longest_sentence, "the sentence is long");
    }
    require(channel_->output().size() <= std::size_t{64} << 10, "the output grows by itself");
  }

  test::TlsServer server_;
  test::TlsServer::Connection peer_;
  tls::Resumption last_;
  std::unique_ptr<Channel> channel_;
  std::string from_server_;  ///< bytes on their way
  std::string all_said_, heard_;
  bool honest_ = true;  ///< nothing was changed, lost or added

 public:
  [[nodiscard]] bool undisturbed_and_open() const {
    return honest_ && channel_->state() == Channel::State::open && heard_ == all_said_;
  }
};

/// Checks that an undisturbed connection is made; without that the inputs are worth little.
bool check_handshake() {
  for (const bool is_1_2 : {false, true}) {
    Network network(is_1_2);
    network.run("\xF5\xFA\xF5");
    require(network.undisturbed_and_open(), "an undisturbed handshake fails");
  }
  return true;
}

}  // namespace
}  // namespace quorumlock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorumlock;
  using namespace quorumlock::fuzz;
  static const bool checked = check_handshake();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t before = test::allocated();
  {
    Network network(!input.empty() && (input[0] & 1) != 0);
    network.run(input.substr(std::min<std::size_t>(input.size(), 1)));
    require(checked && test::allocated() <= before + most_memory, "the memory is not bounded");
  }
  return 0;
}
