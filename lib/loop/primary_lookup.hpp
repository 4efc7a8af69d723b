#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "redis/primary_poll.hpp"
#include "uv/socket.hpp"

namespace quorumlock::detail {

/// Asks the Sentinels of an endpoint for the primary's address, each on a connection of its own
/// that is closed after the answer.
class PrimaryLookup {
 public:
  /// `done` is called on the loop, once for each ask() that is not ended by close(), and may be
  /// called inside ask(). `sentinels` outlives this object.
  PrimaryLookup(const redis::Sentinels& sentinels, uv_loop_t* loop, uv::Open& open,
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
  std::function<void(const redis::PrimaryPoll&)> done_;
  std::vector<std::unique_ptr<Question>> questions_;
  std::optional<redis::PrimaryPoll> poll_;  ///< of the last question
  bool asking_ = false;
};

}  // namespace quorumlock::detail
