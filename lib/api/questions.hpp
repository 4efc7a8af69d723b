#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/handler.hpp>

#include "loop/inquiry.hpp"

namespace quorumlock::detail {

/// A node's reply, which outlives the reader's next call.
struct KeptReply {
  redis::Reply::Type type = redis::Reply::Type::nil;
  std::int64_t integer = 0;
  std::string text{};
  std::vector<KeptReply> elements{};

  KeptReply() = default;
  explicit KeptReply(const redis::Reply& reply);
  [[nodiscard]] bool is_error() const { return type == redis::Reply::Type::error; }
};

/// Asks nodes some questions at once, and hands over all answers together.
class Questions final : public Inquiry {
 public:
  struct Question {
    int node;
    std::vector<std::string> words;
  };
  struct Answer {
    std::optional<KeptReply> reply;  ///< unset if there is none
    std::string run;                 ///< the run of the server that replied, see redis::ServerFacts
    std::string trouble;             ///< why there is no reply
  };

  std::vector<Question> questions;
  /// Gets the answers in the order of the questions; none if the coordinator is closed.
  detail::Handler<std::vector<Answer>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  std::vector<std::optional<Answer>> answers_;
  std::size_t to_come_ = 0;
};

}  // namespace quorumlock::detail
