#include "uv/lookup.hpp"

#include <ares.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "uv/timer.hpp"

namespace quorumlock::uv {
namespace {

/// How long a name server has for its first answer, and how often all servers are asked; the time
/// doubles in the second round. An attempt to connect does not wait for the end of it: the next one
/// takes the answer, too.
constexpr int first_wait_ms = 1000;
constexpr int rounds = 2;

void begin_ares() {
  static const int once = ares_library_init(ARES_LIB_INIT_ALL);
  (void)once;
}

bool is_local(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host == "localhost" || host.ends_with(".localhost");
}

class AresLookup final : public Lookup {
 public:
  AresLookup(uv_loop_t* loop, Open& open) : loop_(loop), open_(open) {}
  ~AresLookup() override { end(); }

  void begin(const std::string& host, Listener& listener) override {
    listener_ = &listener;
    // c-ares takes a file that it cannot open for one that does not have the name.
    check_descriptors(1, "no file can be opened");
    // The hosts file first. If it has the name, nobody else is asked.
    if (open_channel("f")) ask(host, AF_UNSPEC);
    if (answer_.addresses.empty()) {
      if (is_local(host)) {  // RFC 6761: nobody else is asked
        answer_.addresses = {*Address::parse("127.0.0.1"), *Address::parse("::1")};
      } else if (open_channel("b")) {
        answer_ = {};
        ask(host, AF_INET);
        ask(host, AF_INET6);
        return settle();
      }
    }
    answer_.knows_v4 = answer_.knows_v6 = !answer_.addresses.empty();
    unanswered_ = 0;
    settle();
  }

 private:
  struct Question {
    AresLookup* lookup;
    int family;
  };

  bool open_channel(const char* lookups) {
    end();
    begin_ares();
    ares_options options{};
    options.timeout = first_wait_ms;
    options.tries = rounds;
    options.lookups = const_cast<char*>(lookups);  // NOLINT: it is only read
    options.sock_state_cb = [](void* self, ares_socket_t fd, int reads, int writes) {
      static_cast<AresLookup*>(self)->watch(fd, reads != 0, writes != 0);
    };
    options.sock_state_cb_data = this;
    const int status = ares_init_options(
        &channel_, &options,
        ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);
    if (status == ARES_SUCCESS) return true;
    channel_ = nullptr;
    answer_.why = ares_strerror(status);
    return false;
  }

  void ask(const std::string& host, int family) {
    ++unanswered_;
    ares_addrinfo_hints hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(
        channel_, host.c_str(), nullptr, &hints,
        [](void* asked, int status, int, ares_addrinfo* found) {
          const std::unique_ptr<Question> mine(static_cast<Question*>(asked));
          mine->lookup->answered(mine->family, status, found);
          if (found != nullptr) ares_freeaddrinfo(found);
        },
        new Question{this, family});
  }

  void answered(int family, int status, const ares_addrinfo* found) {
    if (ending_) return;
    --unanswered_;
    const bool known = status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA;
    if (family == AF_INET) answer_.knows_v4 = known;
    if (family == AF_INET6) answer_.knows_v6 = known;
    // "No data" for one family says less than whatever the other one has.
    if (status != ARES_SUCCESS && (answer_.why.empty() || status != ARES_ENODATA)) {
      answer_.why = std::string("cannot resolve the name: ") + ares_strerror(status);
    }
    if (found == nullptr) return;
    for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
      answer_.addresses.emplace_back(*node->ai_addr);
    }
  }

  /// c-ares wants to know when this socket can be read or written; neither: it closes the socket.
  void watch(int fd, bool reads, bool writes) {
    if (!reads && !writes) {
      polls_.erase(fd);
      return;
    }
    try {
      std::unique_ptr<Poll>& poll = polls_[fd];
      if (poll == nullptr) {
        poll = std::make_unique<Poll>(loop_, open_, fd, [this, fd](int status, int events) {
          const bool both = status < 0;
          process(both || (events & UV_READABLE) != 0 ? fd : ARES_SOCKET_BAD,
                  both || (events & UV_WRITABLE) != 0 ? fd : ARES_SOCKET_BAD);
        });
      }
      poll->wait_for((reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0));
    } catch (const std::exception& error) {  // c-ares is between us and the loop
      broken_ = error.what();
    }
  }

  void process(ares_socket_t readable, ares_socket_t writable) {
    ares_process_fd(channel_, readable, writable);
    settle();
  }

  /// Tells what is new, once c-ares has returned: it may not be destroyed in its own call.
  void settle() {
    if (!broken_.empty()) answer_.why = std::move(broken_);
    if (unanswered_ == 0 || !broken_.empty()) return listener_->on_answer(answer_);
    try {
      arm();
    } catch (const std::exception& error) {
      answer_.why = error.what();
      return listener_->on_answer(answer_);
    }
    if (answer_.addresses.size() > told_) {
      told_ = answer_.addresses.size();
      listener_->on_part(answer_.addresses);
    }
  }

  void arm() {
    timeval left{};
    if (ares_timeout(channel_, nullptr, &left) == nullptr) return;
    if (!timer_) {
      timer_.emplace(loop_, open_, [this] { process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); });
    }
    timer_->arm(Clock::now() + std::chrono::seconds(left.tv_sec) +
                std::chrono::microseconds(left.tv_usec));
  }

  void end() {
    ending_ = true;
    if (channel_ != nullptr) ares_destroy(std::exchange(channel_, nullptr));
    polls_.clear();
    ending_ = false;
  }

  uv_loop_t* loop_;
  Open& open_;
  Listener* listener_ = nullptr;
  ares_channel channel_ = nullptr;
  std::map<int, std::unique_ptr<Poll>> polls_;
  std::optional<Timer> timer_;
  Resolved answer_;
  int unanswered_ = 0;
  std::size_t told_ = 0;
  bool ending_ = false;
  std::string broken_;
};

}  // namespace

bool Resolved::lacks(const Address& address) const {
  const bool known = address.family() == AF_INET ? knows_v4 : knows_v6;
  return known && std::ranges::find(addresses, address) == addresses.end();
}

std::unique_ptr<Lookup> lookup_on(uv_loop_t* loop, Open& open) {
  return std::make_unique<AresLookup>(loop, open);
}

}  // namespace quorumlock::uv
