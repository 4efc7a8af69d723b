#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lock/engine.hpp"
#include "lock/slots.hpp"
#include "loop/links.hpp"
#include "verbs/dispatch.hpp"

namespace quorumlock::detail {

/// Turns the engine's commands into bytes on the links.
///
/// Commands that can be a redis::Batch go out as one when the engine asks for something else or all
/// input has been processed (flush()). A node's answers to a batch are handed to the engine one by
/// one, since the engine's outputs are valid only until its next input.
class Sender {
 public:
  Sender(Links& links, core::Engine& engine, core::WallClock& wall);

  void send(core::Time now, const core::Send& send);
  void send(core::Time now, const core::SendEntries& sending);
  /// Sends a command that is not the engine's to one node.
  void send(core::Time now, int node, const core::Tag& tag, std::string_view bytes);
  /// Asks all nodes but this one, whose clock is ahead, for their time: if their clocks are ahead,
  /// too, our own clock stood still, and there may be no other command soon whose answer has their
  /// time.
  void ask_clocks(core::Time now, int node);
  /// Sends the commands that wait to be a batch.
  void flush(core::Time now);
  /// Whether flush() has something to send.
  [[nodiscard]] bool holds_batch() const { return !batch_.empty(); }

  /// Whether this is the kind of a batch.
  static bool is_batch(core::CommandKind kind);
  /// A node has answered a batch, or is late with it.
  void on_answer(int node, const core::Tag& tag, const core::Answer& said,
                 const redis::Reply* reply);
  void on_late(int node, const core::Tag& tag);
  /// Whether hand_on() has to be called.
  [[nodiscard]] bool has_answers() const { return handing_.batch != core::SlotId(); }
  /// Hands the engine one more of the answers to a batch; false if there was none left.
  bool hand_on(core::Time now);

 private:
  [[nodiscard]] std::int64_t wall_us(const core::Send& send);
  void put(core::Time now, const core::Send& send);
  void put(core::Time now, int node, const core::Tag& tag);
  void put_renewal(core::Time now, int node, const core::Tag& tag, std::int64_t node_time_us);
  void begin_to_hand_on(int node, const core::Tag& tag, bool late);

  /// A batch that was sent.
  struct Sent {
    std::vector<core::Tag> tags;
    int unanswered = 0;
  };
  /// The answers of one node to one batch that are being handed on.
  struct Handing {
    core::SlotId batch;
    int node = 0;
    bool late = false;
    std::size_t next = 0;
    redis::BatchAnswers answers;
  };

  Links& links_;
  core::Engine& engine_;
  core::WallClock& wall_;
  std::int64_t wall_offset_us_ = 0;  ///< how far the wall clock is ahead of Clock, roughly
  redis::Surroundings around_;       ///< the surroundings of the command being sent
  std::string bytes_;                ///< the command being sent
  redis::Batch batch_;
  core::Slots<Sent> batches_;
  Handing handing_;
};

}  // namespace quorumlock::detail
