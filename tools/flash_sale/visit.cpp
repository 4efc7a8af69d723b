#include "visit.hpp"

#include <algorithm>
#include <sstream>

namespace flash_sale {

using quorumlock::Clock;
using quorumlock::Vote;

bool Visit::lost_vote(std::size_t node) const {
  if (node >= votes.size()) return false;
  switch (votes[node]) {
    case Vote::granted:
    case Vote::held:
    case Vote::absent:
    case Vote::pending: return false;  // answered, or not needed for the decision
    default: return true;
  }
}

std::string to_line(const Visit& visit) {
  std::ostringstream out;
  out << "visit " << visit.buyer.process << ' ' << visit.buyer.number << ' ' << visit.phone << ' '
      << visit.failed << ' ' << visit.waited.count() << ' '
      << visit.entered.time_since_epoch().count() << ' ' << visit.left.time_since_epoch().count()
      << ' ' << visit.votes.size();
  for (const Vote vote : visit.votes) out << ' ' << static_cast<int>(vote);
  std::string note = visit.note.substr(0, 1000);  // a line stays below PIPE_BUF
  std::replace(note.begin(), note.end(), '\n', ' ');
  out << ' ' << note;
  return out.str();
}

std::optional<Visit> parse_visit(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::string kind;
  Visit visit;
  Clock::rep waited = 0;
  Clock::rep entered = 0;
  Clock::rep left = 0;
  std::size_t votes = 0;
  in >> kind >> visit.buyer.process >> visit.buyer.number >> visit.phone >> visit.failed >>
      waited >> entered >> left >> votes;
  if (!in || kind != "visit" || votes > 1000) return std::nullopt;
  for (; votes > 0; --votes) {
    int vote = 0;
    if (!(in >> vote)) return std::nullopt;
    visit.votes.push_back(static_cast<Vote>(vote));
  }
  visit.waited = Clock::duration(waited);
  visit.entered = Clock::time_point(Clock::duration(entered));
  visit.left = Clock::time_point(Clock::duration(left));
  in.get();
  std::getline(in, visit.note);
  return visit;
}

}  // namespace flash_sale
