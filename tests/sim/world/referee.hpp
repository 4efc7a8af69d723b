#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lock/types.hpp"
#include "members/enrolment_record.hpp"
#include "sim/journal.hpp"
#include "sim/wall_clock.hpp"
#include "sim/world/guards.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::sim {

/// Steps the models of proof/ along a history. Each step of a node or of a client has to be an
/// action of a model, and the guard of that action has to hold; else the step is reported as a
/// violation when it is made. What a node is before and after a step is read from its keys. Of the
/// clients' side the referee keeps which node has voted for which owner token, and what has been
/// seen of the candidates.
///
/// A guard is checked as one who sees everything may check it: by the nodes' state at the moment of
/// the step, not by what a client has heard. So it never refuses what the model allows.
class Referee {
 public:
  /// A command that a node has run for somebody, and what it has changed.
  struct Executed {
    int node = 0;
    std::string run;  ///< the server's present run
    std::int64_t now_us = 0;
    const redis::Script* script = nullptr;  ///< that was called; null: none
    const Journal& journal;
    const Database& keys;  ///< after the command
    TrueTime now{};
    int connection = 0;          ///< the server's number for it
    int client = -1;             ///< -1: an operator
    std::size_t life = 0;        ///< of the client when it connected
    core::Time local{};          ///< the client's clock
    std::string_view said = {};  ///< the node's reply
    bool has_name = true;        ///< the connection, by CLIENT SETNAME
  };
  /// What a client believes that it has, once a majority has voted for it.
  struct Believed {
    std::size_t operation = 0, client = 0;
    std::string token;
    bool renewed = false;
    std::uint64_t fence = 0;  ///< 0: no fencing
    TrueTime began{};         ///< when the clock was read for the round
    core::Time start{};       ///< the same by the client's clock
    core::Duration ttl{};
    core::Time now{}, until{}, until_before{};
    /// The client's own list when the round began, and those that it has moved to since. Empty:
    /// that is not known.
    std::vector<redis::NodeNames> lists;
    bool clock_stood = false;  ///< the clock stood still, so `began` is not known
    bool has_record = true;    ///< false: by a plain SET, which compares no record
  };
  using Report = std::function<void(std::string)>;
  /// The TIME of this server now, in us.
  using Times = std::function<std::int64_t(int)>;

  /// What the record of this server says now; nothing if it has no record of its present run.
  using Members = std::function<std::optional<redis::Membership>(int)>;
  /// The keys of this server's first database.
  using Keys = std::function<const Database&(int)>;
  /// Whether the holder believes in the lease of this operation now.
  using IsHeld = std::function<bool(std::size_t)>;

  /// Nothing is asked of the records of `liar`, and of what others do by its word; -1: nobody lies.
  Referee(int servers, int liar, Report report, Times times, Members members, Keys keys,
          IsHeld is_held)
      : servers_(servers),
        liar_(liar),
        report_(std::move(report)),
        times_(std::move(times)),
        members_now_(std::move(members)),
        keys_now_(std::move(keys)),
        is_held_(std::move(is_held)) {}

  void executed(const Executed& step);
  /// Whether a client reads a node's record with this command, as it does on each new connection.
  [[nodiscard]] static bool reads_record(const Words& words) {
    return words.size() > 1 && words[0] == "MGET" && words[1] == redis::enrolment_key;
  }
  void believes(const Believed& believed);
  /// By this token alone a lease was extended for a client of this list, who asked at this time.
  void extended(const std::string& token, TrueTime asked, const redis::NodeNames& list);
  /// From now on nobody has to vouch for a node that is let in: an operator does, or nodes lose the
  /// texts of their lists.
  void ask_for_no_vouchers() { vouched_ = true; }
  /// Every guard that is checked.
  static std::span<const Guard> guards();

 private:
  /// What the keys of a lock say of one claim.
  struct Life {
    std::int64_t until = 0;  ///< the last ms in which the claim's key is there
    bool shared = false;
  };
  using Lives = std::map<std::string, Life, std::less<>>;
  /// A claim that a command is about.
  struct Claim {
    std::string token;
    std::vector<std::string> keys;      ///< under which nodes have the token
    std::vector<std::string> counters;  ///< the keys of its counters; none without fencing
    std::int64_t ttl_ms = 0;
    std::uint64_t fence = 0;
    bool by_token = false;                ///< no lease's own renewal: nobody believes in it
    std::vector<std::string> lines = {};  ///< the locks whose lines these keys have
    std::string waiter = {};              ///< its name in these lines; empty: it is in none
    bool reads = false;
  };
  enum class Kind { other, acquire, renew, raise, release };
  struct Request {
    Kind kind = Kind::other;
    std::vector<Claim> claims;
    const std::string* record = nullptr;  ///< the enrolment that it names; null: it names none
  };
  using NodeId = std::pair<int, int>;  ///< the server and the database
  /// A grant, or a renewal, by a node.
  struct Cast {
    TrueTime at{};
    std::int64_t ttl_ms = 0;
    bool renews = false;
    redis::SharedMembership members;  ///< its record's
  };
  /// How a node has voted for an owner token.
  struct Vote {
    std::vector<Cast> casts;
    std::set<std::uint64_t> numbers;  ///< to which it has raised its counters for the claim
    /// When it was extended by the token alone, and the greatest of its counters.
    std::vector<std::pair<TrueTime, std::int64_t>> extensions;
  };
  struct Votes {
    std::map<NodeId, Vote> of;
    /// Its deletes are on their way; they have come on these connections of nodes.
    std::set<std::pair<int, int>> over = {};
    std::optional<std::size_t> operation = {};  ///< which believes in it, or did
    std::uint64_t decided = 0;                  ///< its fencing token; 0: none yet
  };
  /// A candidate of a node that waits.
  struct Candidate {
    TrueTime put{};
    std::vector<std::int64_t> times;       ///< of all servers, when it was put there
    std::vector<redis::Membership> stood;  ///< what the nodes stood at then, and since
  };
  /// What could be read on a node at some moment: its counters, and what is done once.
  struct Source {
    std::string name;
    std::map<std::string, std::int64_t> numbers;
  };
  /// A list that nodes have committed to: founding, epoch, the list and its terms.
  using Commit = std::tuple<std::uint64_t, std::uint32_t, redis::NodeNames, std::string>;
  struct Committed {
    std::set<std::string> on;
    std::optional<TrueTime> decided = {};  ///< when a majority of the old list had committed
    std::int64_t old_ttl_ms = 0;
    redis::NodeNames from;          ///< the list before it
    std::vector<Source> sources;    ///< what could be read on that list's nodes then
    bool remembers_longer = false;  ///< its fencing_memory is longer than that of the list before
    std::map<std::string, Source> own = {};  ///< then: what nodes had when they had this record
  };
  /// The list that a node has settled, or would have if its change were withdrawn.
  struct Settled {
    std::uint32_t epoch;
    const redis::NodeNames& list;
    const redis::ListTerms& terms;
    bool operator==(const Settled& other) const {
      return epoch == other.epoch && list == other.list && terms == other.terms;
    }
  };
  static Settled settled_of(const redis::Membership& its);
  struct Watch {
    std::string nonce;
    core::Time since{};
  };

  static std::string with_prefix(std::string_view prefix, std::string_view key) {
    return std::string(prefix).append(key);
  }
  [[nodiscard]] static Request read(const Executed& step);
  [[nodiscard]] static const Value* before(const Executed& step, const std::string& key);
  [[nodiscard]] static const Value* after(const Executed& step, const std::string& key);
  [[nodiscard]] static Lives lives(const Value* lock, const Value* readers, std::int64_t now_ms);
  void look_at_lock(const Executed& step, const Request& request, const std::string& key);
  void look_at_counter(const Executed& step, const Request& request, const std::string& key);
  void look_at_votes(const Executed& step, const Request& request);
  [[nodiscard]] static bool is_over(const Executed& step, const std::string& lock,
                                    const std::string& entry, const Lives& holders);
  void look_at_grant(const Executed& step, const Claim& claim, std::size_t lock);
  void look_at_line(const Executed& step, const std::string& lock);
  void look_at_answer(const Executed& step);
  void look_at_periods(const Executed& step, const std::string& key);
  void look_at_connection(const Executed& step, const Request& request);
  void look_at_marks(const Executed& step, const Claim& claim, const std::string& key, bool anew);
  void look_at_record(const Executed& step);
  void look_at_candidate(const Executed& step);
  [[nodiscard]] static bool is_forgotten(const Executed& step);
  void look_at_list(const Executed& step, const std::string& had);
  void look_at_settle(const Executed& step, const std::string& had, const redis::Membership& was,
                      const redis::Membership& its, const Settled& list);
  void look_at_own(const Executed& step, const std::string& had, const redis::Membership& was,
                   const Committed& commit, std::uint64_t floor);
  void note_commit(const Executed& step, const redis::Membership& its);
  void look_at_vouchers(const Executed& step, const std::string& nonce,
                        const redis::Membership& its);
  void look_at_repair(const Executed& step, const redis::Membership& its,
                      const std::set<std::string>& vouch);
  void look_at_life(const Executed& step, const std::string& key, const Guard* begins);
  void look_at_copies(const Executed& step);
  void note_sources(const Executed& step);
  [[nodiscard]] std::vector<Source> sources_beside(int node) const;
  [[nodiscard]] bool is_gone(const Source& source, const std::string& key) const;
  [[nodiscard]] static bool is_covered(const redis::Membership& its,
                                       const std::set<std::string>& names);
  void stands(const redis::Membership& its);
  void look_at_wait(const Executed& step, const redis::EnrolmentCandidate& candidate,
                    const redis::EnrolmentRecord& record);
  [[nodiscard]] static std::string why_not_enrolled(const Executed& step, const Request& request);
  [[nodiscard]] redis::SharedMembership members_of(const std::string& record,
                                                   const std::string& members);
  [[nodiscard]] redis::SharedMembership members_of(const Executed& step);
  void refuse(const Guard& guard, const std::string& what);
  void refuse(const Guard& guard, const Executed& step, const std::string& what);

  int servers_, liar_;
  bool vouched_ = false;
  Report report_;
  Times times_;
  Members members_now_;
  Keys keys_now_;
  IsHeld is_held_;
  std::unordered_map<std::string, Votes> votes_;                   ///< by owner token
  std::set<std::string, std::less<>> drawn_;                       ///< the nonces of all candidates
  std::map<std::string, Candidate> candidates_;                    ///< by their nonces
  std::map<std::tuple<int, std::size_t, NodeId>, Watch> watches_;  ///< by client, its life, node
  /// What could be read for the repair that this client has begun of this node.
  std::map<std::tuple<int, std::size_t, NodeId>, std::vector<Source>> repairs_;
  /// Nodes, and connections on which a record was read that is of no change: had they a name then?
  std::map<std::pair<int, int>, bool> greeted_;
  std::map<Commit, Committed> commits_;
  std::set<std::pair<std::uint64_t, std::string>> founded_;  ///< nodes that were in a founding
  std::unordered_map<std::string, redis::SharedMembership> known_;  ///< by record and members
};

}  // namespace quorumlock::sim
