#include "members/membership.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <utility>

#include <quorumlock/event.hpp>
#include <quorumlock/options.hpp>

#include "lock/mutants.hpp"
#include "lock/placement.hpp"
#include "lock/quorum.hpp"
#include "wire/numbers.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;

namespace {

constexpr std::string_view no_list = "-";
/// A hundred years: spans beyond that would overflow when they are added.
constexpr std::int64_t longest_ms = std::int64_t{100} * 365 * 86'400'000;

/// The least number of nodes of which every quorum of the list has at least one.
int vouchers(const NodeNames& list) {
  if (planted(Mutant::one_voucher_is_enough)) return 1;
  return static_cast<int>(list.size()) - quorum(list) + 1;
}

std::string hexadecimal(std::uint64_t number) {
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); number != 0; ++digit, number /= 16) {
    *digit = "0123456789abcdef"[number % 16];
  }
  return digits;
}

template <class T>
bool read(std::string_view text, T& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

char letter_of(ListPhase phase) {
  switch (phase) {
    case ListPhase::settled: return 's';
    case ListPhase::announced: return 'a';
    case ListPhase::unsettled: return 'u';
  }
  return '?';
}

std::optional<ListPhase> phase_of(char letter) {
  for (const ListPhase phase : {ListPhase::settled, ListPhase::announced, ListPhase::unsettled}) {
    if (letter == letter_of(phase)) return phase;
  }
  return std::nullopt;
}

/// Spaces and commas separate words and names, and bytes that are not printable ASCII would not
/// survive a terminal.
std::string escaped(std::string_view name) {
  std::string text;
  for (const char each : name) {
    if (each > ' ' && each < '\x7f' && each != ',' && each != '%') {
      text += each;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X",
                  static_cast<unsigned>(static_cast<unsigned char>(each)));
    text += code;
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    unsigned code = 0;
    if (i + 2 >= text.size() || !read(text.substr(i + 1, 2), code, 16)) return std::nullopt;
    name += static_cast<char>(code);
    i += 2;
  }
  if (name.empty()) return std::nullopt;
  return name;
}

std::string text_of(const NodeNames& list) {
  std::string text;
  for (const std::string& name : list) {
    if (!text.empty()) text += ',';
    text += escaped(name);
  }
  return text.empty() ? std::string(no_list) : text;
}

std::optional<NodeNames> read_list(std::string_view text) {
  NodeNames list;
  if (text == no_list) return list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::optional<std::string> name = unescaped(text.substr(at, end - at));
    if (!name) return std::nullopt;
    list.push_back(*std::move(name));
    at = end + 1;
  }
  const bool sorted = std::ranges::adjacent_find(list, std::greater_equal<>()) == list.end();
  if (!sorted) return std::nullopt;
  return list;
}

std::string are(const NodeNames& names) {
  return names_in_words(names) +
         (names.size() == 1 ? ", which is not one of them" : ", which are not of them");
}

}  // namespace

std::optional<ListTerms> ListTerms::parse(std::string_view text) {
  ListTerms terms;
  const std::size_t comma = text.find(',');
  const bool good = comma != text.npos && read(text.substr(0, comma), terms.max_ttl_ms, 10) &&
                    read(text.substr(comma + 1), terms.memory_s, 10) && terms.max_ttl_ms > 0 &&
                    terms.memory_s > 0 && terms.max_ttl_ms <= longest_ms &&
                    terms.memory_s <= longest_ms / 1000 && terms.to_string() == text;
  return good ? std::optional(terms) : std::nullopt;
}

std::string ListTerms::to_string() const {
  return std::to_string(max_ttl_ms) + ',' + std::to_string(memory_s);
}

std::optional<MembersMark> MembersMark::parse(std::string_view text) {
  MembersMark mark;
  const std::size_t first = text.find('.');
  const std::size_t second = text.find('.', first + 1);
  if (first != 16 || second == text.npos || second < first + 3 || text.size() != second + 17) {
    return std::nullopt;
  }
  const std::optional<ListPhase> phase = phase_of(text[second - 1]);
  if (!phase) return std::nullopt;
  mark.phase = *phase;
  const bool good = read(text.substr(0, first), mark.founding, 16) &&
                    read(text.substr(first + 1, second - first - 2), mark.epoch, 10) &&
                    read(text.substr(second + 1), mark.digest, 16);
  if (!good || mark.to_string() != text) return std::nullopt;
  return mark;
}

std::string MembersMark::to_string() const {
  return hexadecimal(founding) + '.' + std::to_string(epoch) + letter_of(phase) + '.' +
         hexadecimal(digest);
}

std::optional<Membership> Membership::parse(std::string_view text, const MembersMark& mark) {
  if (core::Placement::hash(text) != mark.digest) return std::nullopt;
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (words.size() != 6 || words[1].size() != 1) return std::nullopt;
  std::optional<std::string> name = unescaped(words[0]);
  std::optional<NodeNames> from = read_list(words[2]);
  std::optional<NodeNames> to = read_list(words[3]);
  const bool settled = mark.phase == ListPhase::settled;
  const std::optional<ListTerms> from_terms =
      settled && words[4] == no_list ? ListTerms() : ListTerms::parse(words[4]);
  const std::optional<ListTerms> to_terms = ListTerms::parse(words[5]);
  if (!name || words[1][0] != letter_of(mark.phase) || !from || !to || to->empty() ||
      from->empty() != settled || !from_terms || !to_terms || (settled && words[4] != no_list)) {
    return std::nullopt;
  }
  return Membership{mark.founding,    mark.epoch,     mark.phase,  *std::move(name),
                    *std::move(from), *std::move(to), *from_terms, *to_terms};
}

std::string Membership::text() const {
  const std::string before =
      phase == ListPhase::settled ? std::string(no_list) : from_terms.to_string();
  return escaped(name) + ' ' + letter_of(phase) + ' ' + text_of(from) + ' ' + text_of(to) + ' ' +
         before + ' ' + to_terms.to_string();
}

MembersMark Membership::mark() const {
  return {founding, epoch, phase, core::Placement::hash(text())};
}

std::optional<std::uint32_t> Membership::epoch_of(const NodeNames& list) const {
  const std::uint32_t newest = phase == ListPhase::announced ? epoch + 1 : epoch;
  if (serves_as_old(list)) return newest - 1;
  return serves_as_new(list) ? std::optional(newest) : std::nullopt;
}

bool Membership::serves_as_old(const NodeNames& list) const {
  const bool old = phase == ListPhase::announced ||
                   (planted(Mutant::old_list_accepted) && phase == ListPhase::unsettled);
  return old && list == from;
}

bool Membership::serves_as_new(const NodeNames& list) const {
  return list == to || planted(Mutant::identity_by_elimination);
}

std::vector<ListTerms> Membership::terms_of(const NodeNames& list) const {
  std::vector<ListTerms> found;
  if (serves_as_old(list)) found.push_back(from_terms);
  if (serves_as_new(list)) found.push_back(to_terms);
  return found;
}

bool Membership::serves(const NodeNames& list, const ListTerms& terms) const {
  return std::ranges::count(terms_of(list), terms) > 0;
}

core::Duration Membership::longest_ttl(const ListTerms& terms) const {
  if (phase == ListPhase::settled || planted(Mutant::greater_max_ttl_at_once)) {
    return terms.max_ttl();
  }
  return std::min(terms.max_ttl(), from_terms.max_ttl());
}

core::Duration Membership::quarantine() const {
  switch (phase) {
    case ListPhase::settled: return to_terms.max_ttl();
    case ListPhase::announced:
      return planted(Mutant::announced_waits_for_the_new) ? to_terms.max_ttl()
                                                          : from_terms.max_ttl();
    case ListPhase::unsettled:
      return planted(Mutant::unsettled_waits_for_the_old) ? from_terms.max_ttl()
                                                          : longest_max_ttl();
  }
  return longest_max_ttl();
}

core::Duration Membership::longest_max_ttl() const {
  if (phase == ListPhase::settled) return to_terms.max_ttl();
  return std::max(from_terms.max_ttl(), to_terms.max_ttl());
}

core::Duration Membership::longest_memory() const {
  if (phase == ListPhase::settled) return to_terms.memory();
  if (planted(Mutant::shorter_life_at_once)) return shortest_memory();
  return std::max(from_terms.memory(), to_terms.memory());
}

core::Duration Membership::shortest_memory() const {
  if (phase == ListPhase::settled) return to_terms.memory();
  if (planted(Mutant::longer_memory_at_once)) return longest_memory();
  return std::min(from_terms.memory(), to_terms.memory());
}

bool Membership::may_vote(std::string_view node) const {
  return is_member(to, node) || (phase == ListPhase::announced && is_member(from, node));
}

bool Membership::is_vouched_for_by(const NodeNames& names) const {
  const auto vouch = [&names](const NodeNames& list) {
    return count_of(list, names) >= vouchers(list);
  };
  if (planted(Mutant::vouchers_by_new_list)) return vouch(to);
  return (phase == ListPhase::settled || vouch(from)) &&
         (phase == ListPhase::announced || vouch(to));
}

int Membership::vouchers_needed() const {
  switch (phase) {
    case ListPhase::settled: return vouchers(to);
    case ListPhase::announced: return vouchers(from);
    case ListPhase::unsettled: return std::max(vouchers(from), vouchers(to));
  }
  return 0;
}

std::uint64_t Membership::rank() const {
  // The commit has raised the epoch, but the list of that epoch is not settled yet.
  const std::uint64_t settled = 3 * std::uint64_t{epoch} + 1;
  switch (phase) {
    case ListPhase::settled: return settled;
    case ListPhase::announced: return settled + 1;
    case ListPhase::unsettled: return settled - 1;
  }
  return 0;
}

Membership Membership::for_node(std::string node) const {
  Membership its = *this;
  its.name = std::move(node);
  return its;
}

std::string list_mark(const NodeNames& list, const NamedTerms& named) {
  std::string text = text_of(list);
  if (named.max_ttl_ms) text += " max_ttl " + std::to_string(*named.max_ttl_ms);
  if (named.memory_s) text += " fencing_memory " + std::to_string(*named.memory_s);
  return hexadecimal(core::Placement::hash(text));
}

bool is_mark_of(std::string_view mark, const NodeNames& list, const ListTerms& terms) {
  return mark == list_mark(list, {}) || mark == list_mark(list, {terms.max_ttl_ms, {}}) ||
         mark == list_mark(list, {{}, terms.memory_s}) ||
         mark == list_mark(list, {terms.max_ttl_ms, terms.memory_s});
}

int quorum(const NodeNames& list) {
  return core::quorum_of(static_cast<int>(list.size()));
}

bool is_member(const NodeNames& list, std::string_view name) {
  return std::ranges::binary_search(list, name);
}

int count_of(const NodeNames& list, const NodeNames& names) {
  return static_cast<int>(
      std::ranges::count_if(names, [&](const std::string& name) { return is_member(list, name); }));
}

bool win(const std::vector<SharedMembership>& votes, const NodeNames& list) {
  std::vector<SharedMembership> left = votes;
  for (;;) {
    NodeNames names;
    for (const SharedMembership& one : left) names.push_back(one->name);
    const auto asks_too_much = [&names](const SharedMembership& one) {
      return one->asks() != nullptr && count_of(*one->asks(), names) < quorum(*one->asks());
    };
    if (std::erase_if(left, asks_too_much) == 0) return count_of(list, names) >= quorum(list);
  }
}

NodeNames without(const NodeNames& list, const NodeNames& others) {
  NodeNames rest;
  std::ranges::set_difference(list, others, std::back_inserter(rest));
  return rest;
}

std::string names_in_words(const NodeNames& names) {
  if (names.empty()) return "no node";
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? " and " : ", ";
    text += printable(names[i]);  // another client wrote them
  }
  return text;
}

std::string in_braces(const NodeNames& names) {
  return '{' + names_in_words(names) + '}';
}

std::string difference(const Membership& its, const NodeNames& ours) {
  const NodeNames& list = its.phase == ListPhase::announced ? its.from : its.to;
  const std::string epoch = std::to_string(its.epoch);
  if (its.phase == ListPhase::unsettled && ours == its.from) {
    const NodeNames left = without(its.from, its.to), joined = without(its.to, its.from);
    return (left.empty() ? "" : names_in_words(left) + " left") +
           std::string(left.empty() || joined.empty() ? "" : " and ") +
           (joined.empty() ? "" : names_in_words(joined) + " joined") + " in epoch " + epoch +
           ": give this client the new nodes";
  }
  const NodeNames extra = without(ours, list), lacking = without(list, ours);
  std::string text = "votes for {" + names_in_words(list) + "} since epoch " + epoch + "; our list";
  if (!extra.empty()) text += " has " + are(extra);
  if (!lacking.empty()) {
    text += std::string(extra.empty() ? "" : ", and") + " lacks " + names_in_words(lacking);
  }
  return text + ": give all clients the same nodes";
}

std::string unclear(const Membership& its, const NodeNames& list, const NodeNames& ours) {
  const NodeNames extra = without(ours, list);
  const bool one = extra.size() == 1;
  return "votes for " + in_braces(list) + " since epoch " + std::to_string(its.epoch) +
         "; our list has " + names_in_words(extra) + ", and lacks " +
         names_in_words(without(list, ours)) + ": " +
         (one ? "that may be one node by two names, but only the node can say so, and it has not "
                "been reached: bring it back, or spell its address as the other clients do"
              : "these may be the same nodes by other names, but only they can say so, and they "
                "have not been reached: bring them back, or spell their addresses as the other "
                "clients do");
}

std::string refusal_of(const Membership& its, const NodeNames& ours) {
  const bool votes = its.may_vote();
  if (!votes && its.phase != ListPhase::announced) {
    return "was removed from its list in epoch " + std::to_string(its.epoch) +
           ", when that became " + in_braces(its.to) +
           ": give this client those nodes, or what the list has become since";
  }
  if (!its.epoch_of(ours)) return difference(its, ours);
  return votes ? "" : "is not a member of its list yet";
}

std::pair<Vote, std::string> terms_difference(const Membership& its, const NodeNames& ours,
                                              const NamedTerms& named) {
  const std::vector<ListTerms> served = its.terms_of(ours);
  if (served.empty() ||
      std::ranges::any_of(served, [&](const ListTerms& one) { return named.allow(one); })) {
    return {Vote::pending, ""};
  }
  const ListTerms& theirs = served.back();
  const bool ttl = named.max_ttl_ms.value_or(theirs.max_ttl_ms) != theirs.max_ttl_ms;
  const ListTerms wanted = named.over(theirs);
  const auto of = [ttl](const ListTerms& terms) {
    return to_text(ttl ? terms.max_ttl() : terms.memory());
  };
  const std::string name = ttl ? "max_ttl" : "fencing_memory";
  return {ttl ? Vote::max_ttl_differs : Vote::terms_differ,
          "votes with " + name + ' ' + of(theirs) + " since epoch " + std::to_string(its.epoch) +
              ", and ours is " + of(wanted) + ": leave " + name +
              " out to follow the nodes; quorumlock members apply changes theirs"};
}

std::string why_groups_stay(const Membership& its, const NodeNames& ours) {
  if (its.phase == ListPhase::settled) return its.to == ours ? "" : difference(its, ours);
  return "is changing its list to " + in_braces(its.to) +
         ", which has to end before its groups are changed: quorumlock members";
}

std::string_view database_mark(std::string_view member) {
  return member.starts_with('/') ? "?db=" : "/";
}

int database_of(std::string_view member) {
  const std::string_view mark = database_mark(member);
  const std::size_t at = member.rfind(mark);
  if (at == 0 || at == member.npos) return 0;
  const std::string_view digits = member.substr(at + mark.size());
  return digits.starts_with('0') ? 0 : std::max(whole_number<int>(digits).value_or(0), 0);
}

}  // namespace quorumlock::redis
