#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "lock/slots.hpp"
#include "lock/timer_queue.hpp"
#include "loop/deferred.hpp"
#include "loop/inquiry.hpp"
#include "loop/session.hpp"

namespace quorumlock::detail {

/// The inquiries under way: what they ask the nodes, and when they want to be called.
class Inquiries {
 public:
  /// All three outlive this object.
  Inquiries(Driver& driver, Session& session, Deferred& later)
      : driver_(driver), session_(session), later_(later) {}

  void begin(Inquiry& inquiry);

  // Called by inquiries.

  void ask(const Inquiry& inquiry, int node, std::uint16_t question,
           std::span<const std::string_view> words);
  void ask(const Inquiry& inquiry, int node, std::uint16_t question,
           std::initializer_list<std::string_view> words) {
    ask(inquiry, node, question, std::span(words.begin(), words.size()));
  }
  /// For what an inquiry asks in another way than ask(), with its id.
  [[nodiscard]] Session& session() { return session_; }
  /// Ends the inquiry: it gets no more answers.
  void end(const Inquiry& inquiry);
  /// Calls the inquiry's due() at this time, in place of any time set before.
  void wake_at(const Inquiry& inquiry, core::Time when) { alarms_.set(inquiry.id.index, when); }
  /// Starts or stops listening to messages about this lock's leaders, which call heard().
  void listen_for_leaders(const std::string& key, bool on);
  /// Checks the connections for messages.
  void check_messages();

  // Called by the driver.

  void carry_out(const Session::Answered& answered);
  void carry_out(const Session::Heard& heard);
  void advance(core::Time now);
  [[nodiscard]] core::Time deadline() const { return alarms_.next(); }
  [[nodiscard]] bool has_any() const { return all_.used() > 0; }
  /// Dismisses all inquiries, also those that begin later.
  void close();

 private:
  Driver& driver_;
  Session& session_;
  Deferred& later_;
  std::string bytes_;  // the question being sent
  core::Slots<Inquiry*> all_;
  core::TimerQueue alarms_;
  bool closed_ = false;
};

}  // namespace quorumlock::detail
