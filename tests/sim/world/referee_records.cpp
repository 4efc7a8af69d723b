// The steps that change the record of a node, or the candidate of one that waits.
#include <algorithm>
#include <cstdlib>

#include "lock/config.hpp"
#include "sim/world/records.hpp"
#include "sim/world/referee.hpp"
#include "wire/numbers.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;
using redis::EnrolmentCandidate;
using redis::EnrolmentRecord;
using redis::Membership;

namespace {

const std::string& enrolment_key() {
  static const std::string key(redis::enrolment_key);
  return key;
}

const std::string& candidate_key() {
  static const std::string key(redis::candidate_key);
  return key;
}

const std::string& members_key() {
  static const std::string key(redis::members_key);
  return key;
}

std::string text_in(const Value* value) {
  const std::string* const text = value != nullptr ? value->text() : nullptr;
  return text != nullptr ? *text : std::string();
}

/// How long a node waits before it votes by this record (terms.py).
std::int64_t wait_ms(const Membership& its) {
  switch (its.phase) {
    case ListPhase::settled: return its.to_terms.max_ttl_ms;
    case ListPhase::announced: return its.from_terms.max_ttl_ms;
    case ListPhase::unsettled: break;
  }
  return std::max(its.from_terms.max_ttl_ms, its.to_terms.max_ttl_ms);
}

/// How far a record is on, as members.py counts it.
std::uint64_t rank(const Membership& its) {
  const std::uint64_t epoch = 4 * std::uint64_t{its.epoch};
  if (its.phase == ListPhase::unsettled) return epoch;
  return its.phase == ListPhase::settled ? epoch + 1 : epoch + 2;
}

/// The least N - q + 1 of the lists that this record names, of the others of a node.
std::size_t least_witnesses(const Membership& its) {
  const auto of = [](const redis::NodeNames& list) {
    const std::size_t n = list.size();
    return std::min(n - (n / 2 + 1) + 1, n - 1);
  };
  return its.phase == ListPhase::settled ? of(its.to) : std::min(of(its.from), of(its.to));
}

}  // namespace

/// Why this node may not vote for what the command asks; empty if it may.
std::string Referee::why_not_enrolled(const Executed& step, const Request& request) {
  if (request.record == nullptr) return {};
  const std::string text = text_in(before(step, enrolment_key()));
  if (text.empty()) return "has no record";
  if (text != *request.record) return "has another record than the one that the client names";
  const auto record = EnrolmentRecord::parse(text);
  if (!record || !redis::is_this_run(record->run_id, step.run))
    return "has a record of another run";
  return {};
}

/// The membership of a node that votes; null if its record has none.
redis::SharedMembership Referee::members_of(const Executed& step) {
  return members_of(text_in(after(step, enrolment_key())), text_in(after(step, members_key())));
}

redis::SharedMembership Referee::members_of(const std::string& record, const std::string& members) {
  const auto [found, is_new] = known_.try_emplace(record + '\n' + members);
  if (is_new) {
    const auto read = EnrolmentRecord::parse(record);
    const auto its = read ? Membership::parse(members, read->members) : std::nullopt;
    if (its) found->second = std::make_shared<const Membership>(*its);
  }
  return found->second;
}

void Referee::look_at_record(const Executed& step) {
  note_sources(step);
  const Journal::Before* const written = step.journal.find(enrolment_key());
  if (written == nullptr) return;
  const std::string had = text_in(*written ? &**written : nullptr);
  const std::string has = text_in(after(step, enrolment_key()));
  if (had == has || has.empty()) return;  // a node may forget at any time
  const auto record = EnrolmentRecord::parse(has);
  if (step.script == &redis::adopt_script) return look_at_list(step, had);
  if (step.script != &redis::enrol_script || !record) {
    return refuse(guard::enrol_same, step, "gets a record although nobody has waited");
  }
  const std::string stood = text_in(before(step, candidate_key()));
  const std::string& named = step.journal.words()[3 + 4 + 2];
  if (stood != named)
    return refuse(guard::enrol_same, step, "is enrolled, and \"" + stood + "\" stands");
  const auto candidate = EnrolmentCandidate::parse(stood);
  if (!candidate || !redis::is_this_run(candidate->record.run_id, step.run) ||
      !redis::is_this_run(record->run_id, step.run)) {
    return refuse(guard::enrol_run, step, "is enrolled by a candidate of another run");
  }
  if (record->nonce != candidate->record.nonce) {
    refuse(guard::enrol_nonce, step, "is enrolled with another nonce than its candidate's");
  }
  look_at_wait(step, *candidate, *record);
  if (const redis::SharedMembership its = members_of(step)) {
    look_at_vouchers(step, record->nonce, *its);
    stands(*its);
    note_commit(step, *its);
  }
}

/// Notes what a node stands at now, for those that wait.
void Referee::stands(const Membership& its) {
  founded_.emplace(its.founding, its.name);
  for (auto& [nonce, candidate] : candidates_) candidate.stood.push_back(its);
}

/// Checks that enough nodes vouch for what a node is let in as: since its candidate was put there
/// they have stood at that, or not as far on. Nodes that found a list need nobody.
void Referee::look_at_vouchers(const Executed& step, const std::string& nonce,
                               const Membership& its) {
  const bool of_databases = std::ranges::any_of(
      its.to, [](const std::string& name) { return name.find('/') != name.npos; });
  if (liar_ >= 0 || vouched_ || of_databases) return;
  std::vector<Membership> present;
  for (int server = 0; server < servers_; ++server) {
    if (const auto is = members_now_(server)) present.push_back(*is);
  }
  if (its.epoch == 0 && its.phase == ListPhase::settled) {
    const bool first = std::ranges::none_of(present, [&its](const Membership& one) {
      return one.name != its.name && one.founding == its.founding &&
             redis::is_member(its.to, one.name);
    });
    // All nodes of the list forgot, and a client founds it, perhaps once more by a candidate of
    // before. A node of a later list may remember that.
    if (first) std::erase_if(founded_, [&](const auto& one) { return one.first == its.founding; });
    if (!founded_.contains({its.founding, its.name})) return;
  }
  std::vector<Membership> stood = candidates_[nonce].stood;
  stood.insert(stood.end(), present.begin(), present.end());
  std::set<std::string> vouch;
  for (const Membership& one : stood) {
    if (one.name == its.name || one.founding != its.founding) continue;
    if (rank(one) <= rank(its)) vouch.insert(one.name);
  }
  if (is_covered(its, vouch)) return look_at_repair(step, its, vouch);
  refuse(guard::enrol_vouched, step,
         "is let in as " + its.text() + " by the word of " + std::to_string(vouch.size()));
}

/// Whether these are N - q + 1 nodes of each list that this record is for.
bool Referee::is_covered(const Membership& its, const std::set<std::string>& names) {
  const auto cover = [&names](const redis::NodeNames& list) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        list, [&names](const std::string& name) { return names.contains(name); }));
    return count >= list.size() - (list.size() / 2 + 1) + 1;
  };
  return (its.phase == ListPhase::announced || cover(its.to)) &&
         (its.phase == ListPhase::settled || cover(its.from));
}

/// Notes what a client that begins to repair a node could read on the others.
void Referee::note_sources(const Executed& step) {
  const Words& words = step.journal.words();
  const std::string repairer(redis::repairer_key);
  const bool asks = step.script == nullptr && step.journal.find(repairer) != nullptr;
  // If another mark stands there, SET with NX changes nothing.
  if (!asks || words[0] != "SET" || text_in(after(step, repairer)) != words[2]) return;
  repairs_[{step.client, step.life, {step.node, step.journal.database()}}] =
      sources_beside(step.node);
}

/// What can be read on all nodes with a record, but for this one.
std::vector<Referee::Source> Referee::sources_beside(int node) const {
  std::vector<Source> sources;
  for (int server = 0; server < servers_; ++server) {
    const auto is = members_now_(server);
    if (server == node || !is) continue;
    Source& source = sources.emplace_back(Source{is->name, {}});
    for (const auto& [key, value] : keys_now_(server).at(times_(server) / 1000)) {
      const bool counts =
          key.starts_with(redis::counter_prefix) || key.starts_with(redis::once_prefix);
      const std::string* const text = counts ? value.text() : nullptr;
      const auto number = text != nullptr ? redis::counter_in(*text) : std::nullopt;
      // A counter at zero is as an absent one: a key that has no token was set anew.
      if (!number || (*number == 0 && key.starts_with(redis::counter_prefix))) continue;
      source.numbers.emplace(key, static_cast<std::int64_t>(*number));
    }
  }
  return sources;
}

/// Whether a number that could be read there is not there any more: it has run out, perhaps.
bool Referee::is_gone(const Source& source, const std::string& key) const {
  const int server = server_named(source.name);
  return keys_now_(server).find(key, times_(server) / 1000) == nullptr;
}

/// A counter that was written lives for the fencing_memory of the node's list, or the longer one of
/// both lists; one that was absent begins by half of it, or of the shorter one, and so does one
/// that is less. `begins` is the guard that says so; null: the counter was raised for a grant of
/// before.
void Referee::look_at_life(const Executed& step, const std::string& key, const Guard* begins) {
  const redis::SharedMembership its = members_of(step);
  const Value* const value = after(step, key);
  if (its == nullptr || value == nullptr || step.node == liar_) return;
  const std::int64_t to = its->to_terms.memory_s;
  const std::int64_t from = its->phase == ListPhase::settled ? to : its->from_terms.memory_s;
  if (value->expires && *value->expires < step.now_us / 1000 + 1000 * std::max(from, to)) {
    refuse(guard::counter_life, step, key + " lives for less than fencing_memory");
  }
  const auto number = redis::counter_in(value->text() != nullptr ? *value->text() : "");
  const std::int64_t least = step.now_us - 1'000'000 * std::min(from, to) / 2;
  if (begins != nullptr && number && static_cast<std::int64_t>(*number) <= least) {
    refuse(*begins, step, key + " begins with " + *value->text());
  }
}

/// A repair leaves no counter that lives for less than it was told, however great it was before.
void Referee::look_at_copies(const Executed& step) {
  const Words& words = step.journal.words();
  const auto count = static_cast<std::size_t>(redis::counter_in(words[2]).value_or(0));
  const std::optional<std::uint64_t> life = redis::counter_in(words[3 + count + 2]);
  const std::string repairer(redis::repairer_key);
  const auto until = step.now_us / 1000 + static_cast<std::int64_t>(life.value_or(0));
  for (const std::string& key : std::span(words).subspan(4, count - 1)) {
    const Value* const value = after(step, key);
    const std::string* const text = value != nullptr ? value->text() : nullptr;
    if (text == nullptr || !redis::counter_in(*text) || !value->expires) continue;
    if (*value->expires >= until || step.journal.find(repairer) == nullptr) continue;
    refuse(guard::counter_prolonged, step, key + " is copied, and lives for less than the others");
  }
}

/// Checks that a node which is let in has the counters, and what is done once, of enough of those
/// that vouch for it: what they had when its repair was begun, or more.
void Referee::look_at_repair(const Executed& step, const Membership& its,
                             const std::set<std::string>& vouch) {
  const auto repair = repairs_.find({step.client, step.life, {step.node, step.journal.database()}});
  if (repair == repairs_.end()) {
    return refuse(guard::enrol_repaired, step, "is let in and nobody has begun to repair it");
  }
  for (const bool periods : {false, true}) {
    const std::string_view prefix = periods ? redis::once_prefix : redis::counter_prefix;
    std::set<std::string> read;
    std::string lacks;
    for (const Source& source : repair->second) {
      if (!vouch.contains(source.name)) continue;
      bool has_all = true;
      for (const auto& [key, number] : source.numbers) {
        if (!key.starts_with(prefix)) continue;
        const Value* const value = after(step, key);
        const std::string* const text = value != nullptr ? value->text() : nullptr;
        const auto own = text != nullptr ? redis::counter_in(*text) : std::nullopt;
        if (own && static_cast<std::int64_t>(*own) >= number) continue;
        if (is_gone(source, key)) continue;
        has_all = false;
        lacks = key + " is " + (text != nullptr ? *text : "absent") + " and was " +
                std::to_string(number) + " at " + source.name;
      }
      if (has_all) read.insert(source.name);
    }
    if (is_covered(its, read)) continue;
    refuse(periods ? guard::enrol_once : guard::enrol_repaired, step, "is let in: " + lacks);
  }
}

/// Whether this step takes the node's record away: it forgets, as a node may at any time.
bool Referee::is_forgotten(const Executed& step) {
  const Journal::Before* const written = step.journal.find(enrolment_key());
  return written != nullptr && after(step, enrolment_key()) == nullptr;
}

Referee::Settled Referee::settled_of(const Membership& its) {
  switch (its.phase) {
    case ListPhase::settled: return {its.epoch, its.to, its.to_terms};
    case ListPhase::announced: return {its.epoch, its.from, its.from_terms};
    case ListPhase::unsettled: break;
  }
  return {its.epoch - 1, its.from, its.from_terms};
}

/// Checks a step of a change of the list. It may be several steps at once: a node that has missed
/// some is brought to where the others are.
void Referee::look_at_list(const Executed& step, const std::string& had) {
  const redis::SharedMembership is = members_of(step);
  const redis::SharedMembership was = members_of(had, text_in(before(step, members_key())));
  if (is == nullptr || was == nullptr || step.node == liar_) return;
  const Settled now = settled_of(*is), then = settled_of(*was);
  const bool settles = is->founding == was->founding && now.epoch > then.epoch;
  const bool from_here = was->phase != ListPhase::unsettled || now.list == was->to;
  const bool stays = is->founding == was->founding && now == then &&
                     (was->phase != ListPhase::unsettled ||
                      (is->phase == ListPhase::unsettled && is->to == was->to));
  if (!stays && !(settles && (from_here || now.epoch > was->epoch))) {
    refuse(guard::list_step, step, "goes from " + was->text() + " to " + is->text());
  }
  if (settles) look_at_settle(step, had, *was, *is, now);
  stands(*is);
  note_commit(step, *is);
}

/// Notes on which nodes a list is committed, and when a majority of the list before it was.
void Referee::note_commit(const Executed& step, const Membership& its) {
  if (its.phase != ListPhase::unsettled) return;
  Committed& commit = commits_[{its.founding, its.epoch, its.to, its.to_terms.to_string()}];
  commit.on.insert(its.name);
  commit.old_ttl_ms = std::max(commit.old_ttl_ms, its.from_terms.max_ttl_ms);
  commit.remembers_longer = its.from_terms.memory_s < its.to_terms.memory_s;
  if (commit.remembers_longer) {
    for (Source& one : sources_beside(-1)) {
      if (one.name == its.name) commit.own[text_in(after(step, enrolment_key()))] = std::move(one);
    }
  }
  const auto seen = static_cast<std::size_t>(std::ranges::count_if(
      its.from, [&commit](const std::string& name) { return commit.on.contains(name); }));
  if (commit.decided || seen < its.from.size() / 2 + 1) return;
  commit.decided = step.now;
  commit.from = its.from;
  commit.sources = sources_beside(-1);
  std::erase_if(commit.sources,
                [&its](const Source& one) { return !redis::is_member(its.from, one.name); });
}

/// Checks that a node which is to remember for longer was committed to that first, and that its
/// floor is above the counters that it had then.
void Referee::look_at_own(const Executed& step, const std::string& had, const Membership& was,
                          const Committed& commit, std::uint64_t floor) {
  if (was.phase != ListPhase::unsettled) {
    return refuse(guard::settle_own, step, "settles a longer memory from " + was.text());
  }
  const auto own = commit.own.find(had);
  if (own == commit.own.end()) return;  // it was let in since, with counters for the longer one
  for (const auto& [key, number] : own->second.numbers) {
    if (!key.starts_with(redis::counter_prefix) || is_gone(own->second, key)) continue;
    if (static_cast<std::uint64_t>(number) <= floor) continue;
    refuse(guard::settle_own, step,
           "settles a longer memory with the floor " + std::to_string(floor) + ", and " + key +
               " was " + std::to_string(number) + " there");
  }
}

/// Checks that a list which is settled on a node was decided, and that old leases are over since.
void Referee::look_at_settle(const Executed& step, const std::string& had, const Membership& was,
                             const Membership& its, const Settled& list) {
  if (liar_ >= 0) return;
  const auto found = commits_.find({its.founding, list.epoch, list.list, list.terms.to_string()});
  if (found == commits_.end() || !found->second.decided) {
    return refuse(guard::settle_decided, step, "settles " + its.text());
  }
  const auto passed = static_cast<double>((step.now - *found->second.decided).count());
  const double wait = static_cast<double>(found->second.old_ttl_ms) * 1e6;
  if (passed * (1 + core::Config().drift_factor) < wait) {
    refuse(guard::settle_waits, step,
           "settles " + its.text() + " before " + std::to_string(found->second.old_ttl_ms) +
               " ms have passed since the commit");
  }
  const auto record = EnrolmentRecord::parse(text_in(after(step, enrolment_key())));
  const std::uint64_t floor = record ? record->floor : 0;
  // The floor is above the counters of a majority of the old list.
  std::size_t read = found->second.from.size() - found->second.sources.size();
  for (const Source& source : found->second.sources) {
    const bool is_below = std::ranges::all_of(source.numbers, [&](const auto& number) {
      return !number.first.starts_with(redis::counter_prefix) ||
             static_cast<std::uint64_t>(number.second) <= floor || is_gone(source, number.first);
    });
    if (is_below) ++read;
  }
  if (found->second.remembers_longer) look_at_own(step, had, was, found->second, floor);
  if (read >= found->second.from.size() / 2 + 1) return;
  refuse(
      guard::settle_scanned, step,
      "settles with the floor " + std::to_string(floor) + ", which is below counters of too many");
}

/// Checks that a node that is enrolled has waited: by its own clock and those of enough witnesses,
/// or by the clock of the client.
void Referee::look_at_wait(const Executed& step, const EnrolmentCandidate& candidate,
                           const EnrolmentRecord& record) {
  const redis::SharedMembership its = members_of(step);
  if (its == nullptr) return refuse(guard::due_waited, step, "is enrolled without a list of nodes");
  const std::int64_t wait = wait_ms(*its);
  // Each TIME is read in whole ms of a clock that counts us.
  const auto passed = [wait](std::int64_t us) { return us + 1000 >= wait * 1000; };
  std::size_t witnesses = 0;
  const std::int64_t waited = (step.now - candidates_[candidate.record.nonce].put) / 1us;
  for (const auto& [name, time] : candidate.times) {
    const std::int64_t shows = times_(server_named(name)) - time;
    // A clock that was set back since the client looked, by more than a second, has shown more.
    if (passed(shows < -1'000'000 ? waited : shows)) ++witnesses;
  }
  const bool own = passed(step.now_us - candidate.begun);
  if (own && witnesses >= least_witnesses(*its)) return;
  const NodeId node{step.node, step.journal.database()};
  const auto watch = watches_.find({step.client, step.life, node});
  if (watch != watches_.end() && watch->second.nonce == record.nonce) {
    const auto watched = static_cast<double>((step.local - watch->second.since) / 1us);
    if (passed(static_cast<std::int64_t>(watched * (1 + core::Config().drift_factor)))) return;
  }
  refuse(own ? guard::due_theirs : guard::due_waited, step,
         "is enrolled before " + std::to_string(wait) + " ms have passed since its candidate");
}

void Referee::look_at_candidate(const Executed& step) {
  const bool looks = step.script == &redis::candidate_script;
  const Journal::Before* const written = step.journal.find(candidate_key());
  if (written == nullptr && !looks) return;
  const NodeId node{step.node, step.journal.database()};
  const std::string had = text_in(before(step, candidate_key()));
  const std::string has = text_in(after(step, candidate_key()));
  const auto candidate = EnrolmentCandidate::parse(has);
  if (!candidate) return;
  const std::string& nonce = candidate->record.nonce;
  const auto stood = EnrolmentCandidate::parse(had);
  if (had == has) {
    // A look.
  } else if (step.script == &redis::witness_script) {
    const bool same = stood && had == step.journal.words()[4] && stood->record.nonce == nonce &&
                      stood->begun == candidate->begun;
    if (!same) refuse(guard::witness_same, step, "gets witnesses of another candidate");
    const Candidate& its = candidates_[nonce];
    for (const auto& [name, time] : candidate->times) {
      const auto server = static_cast<std::size_t>(server_named(name));
      if (server >= its.times.size()) continue;
      // A clock that was set since says nothing.
      const std::int64_t gained = times_(static_cast<int>(server)) - its.times[server];
      if (std::abs(gained - (step.now - its.put) / 1us) > (step.now - its.put) / 40us) continue;
      // So does one that was wrong when it was read: it showed a time from before the history.
      const std::int64_t sooner = its.times[server] - time;
      if (sooner > 0 && sooner <= step.now / 1us) {
        refuse(guard::witness_after, step, "gets a TIME of " + name + " from before its candidate");
      }
    }
  } else {
    // A client that greeted the node while that had another name for its run does not know the
    // record: its candidate stands beside that.
    const auto record = EnrolmentRecord::parse(text_in(after(step, enrolment_key())));
    if (record && redis::is_this_run(record->run_id, candidate->record.run_id)) {
      refuse(guard::see_blank, step, "gets a candidate although it is enrolled");
    }
    if (!drawn_.insert(nonce).second) {
      refuse(guard::see_new, step, "gets a candidate with a nonce that was used before");
    }
    if (candidate->begun != step.now_us || !candidate->times.empty()) {
      refuse(guard::see_age, step, "gets a candidate that is older than this moment");
    }
    Candidate& its = candidates_[nonce];
    its.put = step.now;
    its.times.clear();
    for (int server = 0; server < servers_; ++server) {
      its.times.push_back(times_(server));
      if (const auto is = members_now_(server)) {
        founded_.emplace(is->founding, is->name);
        its.stood.push_back(*is);
      }
    }
  }
  if (!looks || step.client < 0) return;
  Watch& watch = watches_[{step.client, step.life, node}];
  if (watch.nonce != nonce) watch = {nonce, step.local};
}

}  // namespace quorumlock::sim
