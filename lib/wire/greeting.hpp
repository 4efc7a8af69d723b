#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/outcome.hpp>

#include "lock/types.hpp"
#include "members/enrolment_record.hpp"
#include "wire/login.hpp"
#include "wire/pipeline.hpp"
#include "wire/reply.hpp"
#include "wire/ring.hpp"
#include "wire/server_facts.hpp"
#include "wire/write_buffer.hpp"

namespace quorumlock::redis {

/// What is asked of a server on a new connection, after the login, and what it has answered: which
/// run of which server it is, the texts of its record, and whether it takes writes. The scripts are
/// loaded on the way.
///
/// On a connection that is up the facts that may change are asked for again, and a new password is
/// sent. These commands are in the pipeline, with the others.
class Greeting {
 public:
  struct Config {
    Login login;
    int db = 0;
    /// Sentinels may put another server in the place of this one.
    bool fails_over = false;
    /// The arguments of the script `writable`; see needs_of_every_lock().
    std::vector<std::string> needs = {};
    bool only_looks = false;  ///< no name: an operator may end the connections that have one
  };
  /// Something that is wrong with an answer.
  struct Trouble {
    std::string why;
    Vote vote = Vote::pending;  ///< the node's vote if the connection is given up; else pending
    bool in_script = false;     ///< the server runs our scripts, and one of them says so
  };

  explicit Greeting(Config config);

  /// Asks the questions on a new connection.
  void begin(WriteBuffer& out);
  /// Takes the answer to the oldest question of begin().
  std::optional<Trouble> on_reply(const Reply& reply);
  /// Whether a question of begin() has no answer yet.
  [[nodiscard]] bool is_asking() const { return !questions_.empty(); }
  /// Whether nothing has come on this connection yet.
  [[nodiscard]] bool is_silent() const { return silent_; }
  /// Why a connection that is not up yet has to be given up because of this reply, to whatever
  /// question; unset if it may go on.
  [[nodiscard]] std::optional<Trouble> refusal_in(const Reply& reply) const;
  /// The connection has ended.
  void end() {
    facts_.run_id.clear();
    facts_.no_info.clear();
  }

  /// Sets the login to use from now on. If there is a connection, log_in_again() has to follow.
  void set_login(const Login& login, bool connected);
  /// Logs in on the connection that is up, if its login is not the present one. A mark follows that
  /// shows where the answer ends: Redis 8 drops the error of an AUTH that follows another command
  /// in one read, and all later answers would be taken for those to the commands before theirs.
  void log_in_again(core::Time now, WriteBuffer& out, Pipeline& pipeline);
  /// Asks for the facts again, since they may have changed, unless that is under way.
  void ask_facts(core::Time now, WriteBuffer& out, Pipeline& pipeline);
  /// Whether this is the tag of a command of log_in_again() or ask_facts().
  static bool is_later_question(const core::Tag& tag) { return tag.round != 0; }
  static bool is_login(const core::Tag& tag);
  /// Takes the answer to the login, or to the mark after it, which is then taken out of the
  /// pipeline, too. Returns a sentence if the login was refused: that leaves the connection as it
  /// was, so nothing is lost yet.
  std::optional<std::string> on_login_reply(core::Time now, const Reply& reply, Pipeline& pipeline);
  /// Takes the answer to a command of ask_facts(). Returns why the connection has to be given up,
  /// if it has to.
  std::optional<Trouble> on_later_reply(const core::Tag& tag, const Reply& reply);
  /// Whether the facts are complete with the answer to this command.
  static bool completes_facts(const core::Tag& tag);

  /// The run id is empty unless a server has identified itself on the present connection.
  [[nodiscard]] const ServerFacts& facts() const { return facts_; }
  [[nodiscard]] const RecordTexts& texts() const { return texts_; }
  [[nodiscard]] const Login& login() const { return config_.login; }
  /// Why the server refuses every write or our scripts, in its own words, or which right to a lock
  /// this user lacks. Unset: it grants locks, as far as it has answered.
  [[nodiscard]] const std::optional<Trouble>& writes_refused() const { return writes_refused_; }
  /// The number of our connection, if the server has reported it.
  [[nodiscard]] const std::optional<std::int64_t>& client_id() const { return client_id_; }
  /// The role in the last reply to INFO; empty if that did not contain it.
  [[nodiscard]] const std::string& role() const { return role_; }
  [[nodiscard]] const std::string& mode() const { return mode_; }
  /// The words of an error, without our password.
  [[nodiscard]] std::string said(const Reply& reply) const {
    return words_of(reply, config_.login);
  }

 private:
  /// The questions, in the order of their replies.
  enum class Question {
    auth,
    select,
    client_id,
    role,
    fence,
    script,
    writable,
    writable_by_sha,
    name,
    record,
    server,
  };
  /// The words of EVAL or EVALSHA for the script that would write.
  [[nodiscard]] std::vector<std::string_view> would_write(std::string_view command,
                                                          std::string_view script) const;
  std::optional<Trouble> on_server(const Reply& reply);
  void on_replication(const Reply& reply);
  std::optional<Trouble> on_fence(const Reply& reply);
  [[nodiscard]] std::optional<Trouble> refusal_of_writes(const Reply& reply) const;
  void on_writable_by_sha(const Reply& reply);

  Config config_;
  bool login_is_new_ = false;     ///< the present connection has logged in with an older one
  bool login_was_taken_ = false;  ///< the server accepted the last one of log_in_again()
  bool asks_facts_ = false;       ///< ask_facts() has no complete answer yet
  bool silent_ = true;
  Ring<Question> questions_;  ///< those without an answer
  ServerFacts facts_;
  int replicas_ = 0;  ///< how many are attached, as the server reports
  RecordTexts texts_;
  std::optional<Trouble> writes_refused_;
  std::optional<Trouble> refused_first_;  ///< the first of the two answers about writes, if refused
  std::optional<std::int64_t> client_id_;
  std::string role_, mode_;
};

}  // namespace quorumlock::redis
