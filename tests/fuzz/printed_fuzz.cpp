#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/event.hpp>
#include <quorumlock/metrics.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>
#include "api/look.hpp"
#include "cli/members_report.hpp"
#include "cli/ran_out.hpp"
#include "cli/reports.hpp"
#include "cli/status_table.hpp"
#include "config/quoted.hpp"
#include "fuzz/require.hpp"
#include "members/membership.hpp"
#include "wire/reply.hpp"

// Everything that the library and the command line print, with texts from outside in it. The input
// is these texts, with a zero byte after each; as a whole it is also what a server sends. What is
// printed must be UTF-8 that steers no terminal, and have as many lines as with plain texts.
namespace quorumlock::fuzz {
namespace {

using std::chrono::milliseconds;

/// Gives the texts one after the other, and from the first one again.
class Texts {
 public:
  explicit Texts(std::string_view input) {
    while (!input.empty()) {
      const std::string_view one = input.substr(0, input.find('\0'));
      input.remove_prefix(std::min(one.size() + 1, input.size()));
      if (!one.empty()) texts_.emplace_back(one);
    }
    if (texts_.empty()) texts_.emplace_back("plain");
  }
  std::string operator()() { return texts_[next_++ % texts_.size()]; }

 private:
  std::vector<std::string> texts_;
  std::size_t next_ = 0;
};

std::string digits() {
  return std::string(40, 'a');
}

std::string library(Texts& text) {
  std::string said = Error(Errc::lost, text()).what();
  said += to_string(Event{.kind = EventKind::lease_lost, .resource = text(), .reason = text()});
  said += to_string(Event{.node = text(), .reason = text()});
  said += detail::quoted(text()) + redis::names_in_words({text(), text()});
  Options options;
  options.nodes = {"redis://a"};
  options.resource_classes = {text(), text()};
  if (const Result<void> good = options.validate(); !good) said += good.error().what();
  options.nodes = {"unix:///" + text()};
  if (const Result<void> good = options.validate(); !good) said += good.error().what();
  return said;
}

std::vector<LineEntry> waiters(Texts& text) {
  std::vector<LineEntry> line(2);
  for (LineEntry& one : line) {
    one.name = text();
    one.process = text();
  }
  line.front().label = text();
  return line;
}

Inspection inspection(Texts& text) {
  Inspection seen;
  seen.resource = text();
  seen.group = "g1";
  seen.quorum = 1;
  seen.waiters = waiters(text);
  seen.holder = OwnerToken(digits() + text());
  seen.label = text();
  seen.readers = {OwnerToken(text()), OwnerToken(text())};
  NodeHolding node;
  node.node = "redis://a";
  node.vote = Vote::held;
  node.token = seen.holder;
  node.waiters = waiters(text);
  node.detail = text();
  node.semaphore.permits = {{1, OwnerToken(text()), milliseconds(1)}, {2, OwnerToken(text()), {}}};
  node.semaphore.waiters = waiters(text);
  seen.semaphore = node.semaphore;
  seen.nodes.push_back(node);
  node.token = OwnerToken();
  seen.nodes.push_back(node);
  node.readers = {{OwnerToken(text()), milliseconds(1)}, {OwnerToken(text()), milliseconds(2)}};
  seen.nodes.push_back(node);
  node.vote = Vote::failed;
  seen.nodes.push_back(std::move(node));
  return seen;
}

ClusterStatus status(Texts& text) {
  ClusterStatus status;
  for (const Vote reason : {Vote::failed, Vote::unauthorized, Vote::terms_differ}) {
    NodeStatus& node = status.nodes.emplace_back();
    node.node = "redis://a";
    node.reason = reason;
    node.trouble = text();
    node.role = text();
    node.version = text();
    node.run_id = text();
    node.round_trip = milliseconds(1);
    node.persistence.append_only = true;
    node.persistence.append_fsync = text();
    node.memory.limit = 1;
    node.memory.eviction_policy = text();
    node.access.missing_rights = {text(), "&" + text(), "%R~" + text()};
    node.enrolment.why = text();
    node.membership.name = text();
    node.membership.configured_name = "a";
    node.membership.nodes = {text(), text()};
    node.membership.next = {text(), text()};
    node.same_server_as = {text()};
  }
  return status;
}

std::vector<HeldLock> locks(Texts& text) {
  HeldLock lock;
  lock.resource = text();
  lock.label = text();
  lock.token_begin = text();
  lock.expires_in = milliseconds(0);
  lock.next_waiter = text();
  HeldLock permit = lock;
  permit.resource = text();
  permit.permit = 7;
  permit.label = "";
  return {lock, permit};
}

std::vector<MembersReport> members(Texts& text) {
  MembersReport report;
  Member& member = report.members.emplace_back();
  member.name = text();
  report.list = {text(), text()};
  report.new_list = {text(), text()};
  report.next_step = "wait for " + redis::names_in_words({text()});
  return {report};
}

std::string metrics(Texts& text) {
  Stats stats;
  stats.classes.emplace_back().prefix = text();
  ClusterStatus status;
  status.nodes.emplace_back().node = text();
  return metrics_text(stats, status, {.labels = {{"host", text()}}}).value();
}

void check_document(const cli::Json& document) {
  const std::string text = cli::text_of(document);
  require_sentence(text);
  require(nlohmann::json::accept(text), "a document cannot be read");
}

/// Returns everything that is printed with these texts, in tables of this width, and checks each
/// document.
std::string printed(Texts text, std::size_t width) {
  std::string all = library(text) + '\n';
  const Inspection seen = inspection(text);
  all += cli::table(seen) + '\n';
  check_document(cli::inspection_json(seen));
  const ClusterStatus nodes = status(text);
  all += cli::table(nodes, width) + '\n';
  check_document(cli::status_json(nodes));
  for (const Finding& finding : findings_of(nodes)) {
    require_sentence(finding.what);
    require_sentence(finding.remedy);
  }
  LockList list;
  list.locks = locks(text);
  all += cli::locks_table(list.locks, 5, width) + '\n';
  check_document(cli::locks_json(list));
  cli::RanOut ran_out;
  ran_out.note(list, {});
  ran_out.note(LockList(), {});
  all += ran_out.text() + '\n';
  check_document(ran_out.document());
  const std::vector<MembersReport> change = members(text);
  all += cli::members_text(change, width) + '\n';
  all += cli::plan_text(change.front()) + '\n';
  check_document(cli::members_json(change));
  check_document(cli::error_json(cli::Failure::local(text())));
  return all + metrics(text);
}

void check_text(std::string_view text) {
  require(test::unprintable_at(text, "\n") == text.npos, "something printed is not printable");
}

/// Checks what is made of the replies of a server.
void check_replies(std::string_view bytes) {
  redis::ReplyReader reader;
  reader.feed(bytes);
  while (const redis::Reply* const reply = reader.next()) {
    if (!reply->text.empty()) require_sentence(redis::words_of(*reply));
    NodeHolding holding;
    if (!detail::holding_of(*reply, holding)) continue;
    Inspection seen;
    seen.resource = "r";
    seen.quorum = 1;
    seen.nodes.push_back(std::move(holding));
    detail::conclude(seen);
    check_text(cli::table(seen));
    check_document(cli::inspection_json(seen));
  }
}

}  // namespace
}  // namespace quorumlock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorumlock::fuzz;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const auto lines =
      std::ranges::count(printed(Texts("plain"), quorumlock::cli::unlimited), '\n');
  const std::string all = printed(Texts(input), quorumlock::cli::unlimited);
  check_text(all);
  require(std::ranges::count(all, '\n') == lines, "a text has broken a line, or joined two");
  constexpr std::size_t narrow = 40;  // names are cut there, and lines wrapped
  check_text(printed(Texts(input), narrow));
  check_replies(input);
  return 0;
}
