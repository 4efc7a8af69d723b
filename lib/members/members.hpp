#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/types.hpp"
#include "loop/links.hpp"
#include "members/electorate.hpp"
#include "wire/client_name.hpp"
#include "wire/link.hpp"

namespace quorumlock::detail {

class Session;

/// Keeps all links informed of what the other nodes say: which nodes vote for our list, and with
/// which membership a node without a record may be enrolled. redis::Electorate makes the decisions.
class Members {
 public:
  Members(Session& session, core::Random& random, redis::NamedTerms named)
      : session_(session), named_(named), electorate_(random, named) {}

  /// Takes into account what has changed in the links.
  void judge(core::Time now);
  /// Moves to these nodes once enough of them for a lock accept this list, so that a client may be
  /// given new nodes before the operator announces them. Until then the present list stays. If
  /// fewer than a quorum of the present nodes accept the present list, a single node that accepts
  /// the new list is enough, and no node has to if no lease is held.
  void set_nodes(core::Time now, std::vector<redis::Link::Config> list);
  /// The operator vouches for nodes without a record.
  void vouch(core::Time now);
  void advance(core::Time now);
  [[nodiscard]] core::Time deadline() const { return std::min(doubt_due_, look_due_); }
  /// Whether there is something to say about the list.
  [[nodiscard]] bool has_news() const { return news_.has_value(); }
  News take_news() { return *std::exchange(news_, std::nullopt); }
  [[nodiscard]] const redis::Electorate& electorate() const { return electorate_; }
  /// The name of this node as far as we know it.
  [[nodiscard]] const std::string& name_of(int node) const;

 private:
  bool confirms_outdated(core::Time now, const std::vector<redis::Ruling>& judged);
  void tell_name(core::Time now, int node, const redis::NodeNames& list);
  void read_again(core::Time now, const std::vector<redis::NodeRecord>& nodes,
                  const std::vector<redis::Ruling>& judged);

  [[nodiscard]] redis::NodeNames names_of(const std::vector<redis::Link::Config>& list) const;
  /// The number of the node that has this place in the electorate.
  [[nodiscard]] int number_of(int place) const;
  [[nodiscard]] core::Majority by_number(const core::Majority& of_places) const;
  void look(core::Time now);
  void move_on(core::Time now);
  /// Whether the record of a node is being read.
  [[nodiscard]] bool is_reading() const;
  [[nodiscard]] bool may_move_on() const;

  [[nodiscard]] core::Duration forgotten_max_ttl() const;
  void take_terms(core::Time now, const std::vector<redis::NodeRecord>& nodes);

  Session& session_;
  const redis::NamedTerms named_;
  redis::Electorate electorate_;
  std::pair<core::Duration, core::Duration> terms_{};  ///< as the engine knows them
  /// The name in the last record that was read of each node, by the node's number. The name stays
  /// while the node is away. Empty: unknown.
  std::array<std::string, core::max_nodes> names_;
  /// The longest max_ttl in that record, in us. A list that is founded after its nodes forgot waits
  /// as long as N - q + 1 of them, of which one is right, have said: a client that names a shorter
  /// max_ttl would found it beside a lease of before.
  std::array<std::uint64_t, core::max_nodes> max_ttls_{};
  /// What the connection to a node says by its name, by the node's number.
  std::array<redis::ClientName, core::max_nodes> told_;
  /// The list of nodes to move to; empty: none.
  std::vector<redis::Link::Config> next_;
  core::Time look_due_ = core::never;  ///< when to look whether nodes accept next_
  bool noted_ = false;                 ///< it was news that the nodes do not accept next_
  int refusing_ = 0;                   ///< nodes that refuse the present list or cannot join it
  std::optional<News> news_;
  bool confirming_ = false;     ///< see confirms_outdated()
  bool ever_enrolled_ = false;  ///< we have seen an enrolled node
  core::Time last_doubt_{};     ///< when nodes were last read again
  core::Time doubt_due_ = core::never;
};

}  // namespace quorumlock::detail
