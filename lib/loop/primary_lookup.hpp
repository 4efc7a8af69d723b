#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lock/types.hpp"
#include "tls/contexts.hpp"
#include "uv/socket.hpp"
#include "wire/primary_poll.hpp"

namespace quorumlock::detail {

/// Asks the Sentinels of an endpoint for the primary's address, each on a connection of its own
/// that is closed after the answer. If the endpoint has TLS, so have these connections; the
/// certificate of each Sentinel must be for its own address, and not for the server_name.
class PrimaryLookup {
 public:
  /// `done` is called on the loop, once for each ask() that is not ended by close(), and `waits`
  /// whenever there is news before that; both may be called inside ask(). `within` is how long the
  /// caller waits. `endpoint`, `names` and `contexts`
  /// outlive this object.
  PrimaryLookup(const redis::Endpoint& endpoint, uv_loop_t* loop, uv::Open& open, uv::Names& names,
                core::Duration within, tls::Contexts& contexts,
                std::function<void(const redis::PrimaryPoll&)> waits,
                std::function<void(const redis::PrimaryPoll&)> done);
  ~PrimaryLookup();
  PrimaryLookup(const PrimaryLookup&) = delete;
  PrimaryLookup& operator=(const PrimaryLookup&) = delete;

  void ask();
  /// Ends the question, if one is under way. The caller limits its time.
  void close();

 private:
  class Question;

  void conclude();

  const redis::Sentinels& sentinels_;
  std::optional<TlsOptions> tls_;
  tls::Contexts& contexts_;
  std::function<void(const redis::PrimaryPoll&)> waits_, done_;
  std::vector<std::unique_ptr<Question>> questions_;
  std::optional<redis::PrimaryPoll> poll_;  ///< the poll of the last question
  bool asking_ = false;
};

}  // namespace quorumlock::detail
