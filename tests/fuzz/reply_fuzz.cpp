#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/link_harness.hpp"
#include "fuzz/require.hpp"
#include "support/allocated.hpp"
#include "wire/reply.hpp"

// The reply path. The input is what a server sends, byte for byte, so that any piece of RESP is an
// input. A few bytes that RESP does not need are orders:
//
//   FF      the end of what comes in one read
//   FE n    the bytes since the last read come 2^(n mod 13) times, in a read each
//   FD      the answers of a good server to all that was asked: the greeting, then the link is up
//   FC      the socket is open         FB    the server closes it
//   FA      time passes until something is due
//   F9 n    n bytes were written
//   F0..F8  a command is sent, of the kind of this number
//   EF b    the byte b itself
namespace quorumlock::fuzz {
namespace {

using core::CommandKind;

constexpr int kinds = static_cast<int>(CommandKind::once) + 1;  // those of engine and driver

constexpr std::size_t most_fed = 3 << 20;   // beyond every limit of the reader
constexpr std::size_t most_reads = 20'000;  // keeps the time for one input short
// A link and a reader use less, however much they are fed.
constexpr std::size_t most_memory = 16U << 20;
constexpr std::size_t most_unread = 2 * redis::ReplyReader::max_bytes;

/// The replies, one hash for each, and whether the reader broke.
struct Read {
  std::vector<std::size_t> replies;
  bool broken = false;
  bool operator==(const Read&) const = default;
};

std::size_t hash_of(const redis::Reply& reply) {
  std::size_t hash = std::hash<std::string_view>()(reply.text) ^
                     static_cast<std::size_t>(reply.integer) * 31 ^
                     static_cast<std::size_t>(reply.type) << 40;
  for (const redis::Reply& element : reply.elements) hash = hash * 1'000'003 + hash_of(element);
  return hash;
}

void take_replies(redis::ReplyReader& reader, Read& into) {
  while (const redis::Reply* reply = reader.next()) into.replies.push_back(hash_of(*reply));
  into.broken = !reader.broken().empty();
  if (into.broken) require_sentence(reader.broken());
}

class ReplyPath {
 public:
  void run(std::string_view input) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(input[i]);
      const auto argument = [&] {
        return static_cast<std::uint8_t>(++i < input.size() ? input[i] : 0);
      };
      switch (byte) {
        case 0xFF: read(1); break;
        case 0xFE: read(std::size_t{1} << argument() % 13); break;
        case 0xFD: flush().greet(); break;
        case 0xFC: flush().open(); break;
        case 0xFB: flush().close(); break;
        case 0xFA: flush().advance(); break;
        case 0xF9: flush().wrote(argument()); break;
        case 0xEF: chunk_ += static_cast<char>(argument()); break;
        default:
          if (byte >= 0xF0) {
            flush().send(static_cast<CommandKind>((byte - 0xF0) % kinds));
          } else {
            chunk_ += input[i];
          }
      }
    }
    flush().stop();
    check_splits();
  }

 private:
  LinkHarness& flush() {
    if (!chunk_.empty()) read(1);
    return link_;
  }
  void read(std::size_t times) {
    for (; times > 0 && fed_ + chunk_.size() <= most_fed && reads_ < most_reads; --times) {
      fed_ += chunk_.size();
      ++reads_;
      link_.feed(chunk_);
      recorded_ += chunk_;
      const std::size_t replies = in_pieces_.replies.size();
      reader_.feed(chunk_);
      take_replies(reader_, in_pieces_);
      unread_ = in_pieces_.replies.size() == replies ? unread_ + chunk_.size() : 0;
      require(in_pieces_.broken || unread_ <= most_unread + chunk_.size(),
              "a reply without an end is kept");
    }
    chunk_.clear();
  }
  /// Checks that the replies are the same however the bytes are cut.
  void check_splits() {
    redis::ReplyReader reader;
    Read at_once;
    reader.feed(recorded_);
    take_replies(reader, at_once);
    require(at_once == in_pieces_, "the replies depend on how the bytes are cut");
  }

  LinkHarness link_{{.host = "n1", .login = {"user", "pass"}}};
  redis::ReplyReader reader_;
  Read in_pieces_;
  std::string chunk_;
  std::string recorded_;
  std::size_t fed_ = 0;
  std::size_t unread_ = 0;  // bytes since the last reply
  std::size_t reads_ = 0;
};

/// Checks that the good server still brings the link up; without that the inputs are worth little.
bool check_greeting() {
  LinkHarness link({.host = "n1"});
  link.open();
  link.greet();
  require(link.is_up(), "the link does not come up: good_server.hpp must answer its greeting");
  link.stop();
  return true;
}

}  // namespace
}  // namespace quorumlock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorumlock;
  using namespace quorumlock::fuzz;
  static const bool checked = check_greeting();
  const std::size_t before = test::allocated();
  {
    ReplyPath path;
    path.run({reinterpret_cast<const char*>(data), size});
    require(checked && test::allocated() <= before + most_memory, "the memory is not bounded");
  }
  return 0;
}
