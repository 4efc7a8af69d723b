#pragma once

#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "support/engine_driver.hpp"

namespace quorumlock::test {

/// Plays the lines of a transcript to an engine and records its outputs.
///
///   nodes N [delay=50ms] [jitter=0s] [fencing=yes]     begins; nodes are n1, n2, ...
///   acquire USER [ttl=10s] [wait=0s] [margin=1s] [max_hold=D] [max_renewals=N] [renew=no]
///           [order=fifo] [mode=shared] [keys=K,K...] [permits=N]
///   reply NODE... VOTE[:COUNTER] [free=SLOT]
///                                         each node answers its oldest command
///   place NODE... first|next|behind|far [free=yes] [slot=SLOT] [due=D] [greatest=TICKET]
///                                         the same for a command about entries: each is there
///   wake NODE... NUMBER [slot=SLOT]       a message: this waiter is first, the lock free
///   late NODE...                          an answer of each node is overdue
///   lose NODE... | stall NODE... | quarantine NODE... | back NODE...
///                                         the connection breaks, stalls, has no vote, is up again
///   advance D                             time passes
///   extend USER ttl=D | downgrade USER | release USER | detach USER | cancel USER | close
///   status                                shows what is left to do
///
/// Votes are named as in quorumlock::Vote; `replanted` is the answer to a renewal that had to set
/// the key again. Owner tokens are shown as t1, t2, ... in order of appearance, times in seconds
/// since the beginning.
class Transcript {
 public:
  /// Plays this line and returns its outputs, each on a line of its own.
  std::string play(const std::string& line);

 private:
  struct User {
    core::WaiterId waiter{};
    core::ClaimId claim{};
  };
  /// A command line split into words and settings of the form name=value.
  struct Words {
    explicit Words(const std::string& line);
    std::string setting(const std::string& name, const std::string& otherwise);
    core::Duration span(const std::string& name, const std::string& otherwise);
    std::vector<std::string> words;
    std::map<std::string, std::string> settings;
  };

  std::string carry_out(Words& line);
  void begin(Words& line);
  void acquire(Words& line);
  void tell_nodes(Words& line);
  User& user(const std::string& name);

  std::string collect(core::Time begun);
  std::string token_name(const std::string& token);
  std::string user_name(core::UserId id);
  std::string shown(const Sent& sent);
  std::string shown(const core::ClockJumped& jumped);
  static std::string shown(const core::ClockStood& stood);
  std::string shown(const core::Listen& listen);
  std::string shown(const core::Acquired& acquired);
  std::string shown(const core::Refused& refused);
  std::string shown(const core::Renewed& renewed);
  std::string shown(const core::AtRisk& risk);
  std::string shown(const core::Ended& ended);
  std::string shown(const core::Extended& extended);
  std::string shown(const core::Released& released);

  std::unique_ptr<EngineDriver> driver_;
  std::vector<std::string> names_;  // the users' names; the index is the id
  std::map<std::string, User> users_;
  std::map<std::string, std::string> tokens_;
};

}  // namespace quorumlock::test
