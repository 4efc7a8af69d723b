#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/export.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>

/// Changing the list of nodes while clients lock: for an operator's program. The command line's
/// `members` is written with it, and docs/members.md has the steps.
namespace quorumlock {
namespace detail {
class MembersChanger;
}  // namespace detail

/// One node of the list that governs, of the new list, or of both.
struct Member {
  std::string name;          ///< the name that the nodes give it
  std::string node;          ///< its URL, without user and password
  bool in_list = false;      ///< whether it is in the list that governs
  bool in_new_list = false;  ///< whether it is in the list of the options
  /// "settled", "announced", "unsettled", "removed", "new", "waiting" (it is new or was restarted,
  /// and does not vote yet), "behind", "apart" (it says what no other node says, and no step leads
  /// from there to the others' state: MembersChange::commit makes it forget that) or "unreachable".
  std::string state;
  std::optional<std::uint32_t> epoch;  ///< unset if the node has no list
  /// The connections to this node, by address, of clients that have another list than the new one.
  /// Unset if the node does not show them to this user.
  std::optional<std::vector<std::string>> old_clients;
  /// How many connected clients say that they may enrol this node. Unset: as above.
  std::optional<int> enrollers = std::nullopt;
};

/// How far a change of the list has come.
enum class MembersStage {
  agreed,     ///< the nodes vote for the new list
  differs,    ///< they vote for another list, and no change is under way
  announced,  ///< they serve clients with either list
  committed,  ///< the new list is decided, and is settled once older leases have ended
  other,      ///< a change to another list is under way
  unknown,    ///< no node that answers has a list
};
/// The name in the list above.
QUORUMLOCK_EXPORT std::string_view to_string(MembersStage stage) noexcept;

/// The nodes of one quorum group as a look found them.
struct MembersReport {
  std::string group;                           ///< empty if there are no groups
  MembersStage stage = MembersStage::unknown;  ///< how far the change has come
  std::optional<std::uint32_t> epoch;  ///< the epoch of the list that governs; unset: unknown
  std::vector<std::string> list;       ///< the list that governs, or did before the change
  std::vector<std::string> new_list;   ///< the list of the options
  std::vector<Member> members;         ///< the nodes of both lists
  /// Whether every node of the new list has settled it.
  bool done = false;
  std::string next_step;  ///< what to do next, in plain words

  /// The addresses of clients that have another list than the new one, each once.
  [[nodiscard]] QUORUMLOCK_EXPORT std::vector<std::string> old_clients() const;
};

/// Takes the nodes from the list that they vote for to the list of the options, step by step. Any
/// step may be repeated, interrupted, or made by somebody else. All calls are blocking and must not
/// be made on a coordinator's loop.
///
/// Errc::misconfigured: the step is not safe, or could not be finished; Errc::no_quorum: too few
/// nodes take it; Errc::timed_out: it has to wait. The message says what to do first.
class QUORUMLOCK_EXPORT MembersChange {
 public:
  /// Connects to the nodes of `options`, which is the new list, and to those that leave. The latter
  /// are known by their names, host:port; `leaving` has URLs for those whose name is not enough.
  static Result<MembersChange> open(Options options, Nodes leaving = {});
  MembersChange(MembersChange&&) noexcept;
  MembersChange& operator=(MembersChange&&) noexcept;
  ~MembersChange();

  /// Looks at all nodes. Returns one report for each group whose nodes are configured.
  Result<std::vector<MembersReport>> look();
  /// Says whether the change could be announced, and changes nothing.
  Result<void>(check)();
  /// Announces the new list: from now on nodes serve clients with either list.
  Result<void> announce();
  /// Decides the new list: from now on clients with the old list are refused. Unless forced it
  /// refuses while such clients are connected.
  Result<void> commit(bool force = false);
  /// Settles the new list if every lease of the old one has ended, so that new nodes may vote.
  /// Returns the time until it can, zero once it is done; call it again then.
  Result<std::chrono::nanoseconds> settle();
  /// Takes back a change that was announced and not committed.
  Result<void> withdraw();

 private:
  explicit MembersChange(std::unique_ptr<detail::MembersChanger> changer) noexcept;
  std::unique_ptr<detail::MembersChanger> changer_;
};

}  // namespace quorumlock
