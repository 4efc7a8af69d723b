#include "members/voting_right.hpp"

#include <chrono>

#include "wire/words.hpp"

namespace quorumlock::redis {

using core::Time;

void VotingRight::end() {
  enrolment_.disconnected();
  judged_ = reading_again_ = false;
}

void VotingRight::follow(Time now, Ruling ruling) {
  const bool undecided = ruling.undecided;
  if (!undecided) {
    refusal_ = ruling.refusal;
    vote_ = ruling.vote;
  }
  enrolment_.follow(now, std::move(ruling));
  if (!undecided) judged_ = is_enrolled();
}

void VotingRight::doubt() {
  reading_again_ = is_enrolled();
  enrolment_.doubt();
}

bool VotingRight::update() {
  const bool news = enrolment_.take_news();
  if (news) judged_ = false;
  if (news && is_enrolled()) {
    own_words_.clear();
    append_word(own_words_, enrolment_.enrolled().record);
    append_word(own_words_, std::to_string(enrolment_.enrolled().floor));
    const Membership& as = *enrolment_.enrolled().membership;
    append_number(own_words_, as.longest_memory() / std::chrono::milliseconds(1));
    append_number(own_words_, as.shortest_memory() / std::chrono::milliseconds(1));
  }
  return news;
}

void VotingRight::on_reply(Time now, const Reply& reply, std::string_view said) {
  if (reply.type != Reply::Type::error) return enrolment_.on_reply(now, reply);
  Reply shown = reply;
  shown.text = said;
  enrolment_.on_reply(now, shown);
}

bool VotingRight::end_reading() {
  if (enrolment_.is_reading() || (is_enrolled() && !judged_)) return false;
  return std::exchange(reading_again_, false);
}

Vote VotingRight::vote() const {
  if (barred()) return barred_;
  return judged_ && !refusal_.empty() ? vote_ : enrolment_.vote();
}

std::string VotingRight::why(Time now) const {
  // While the record is read again the last ruling stands.
  if (judged_ || (reading_again_ && !refusal_.empty())) return refusal_;
  std::string text = enrolment_.why();
  if (now < enrolment_.candidacy().until()) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(enrolment_.candidacy().until() - now);
    text += "; " + std::to_string(left.count()) + " s left";
  }
  return text;
}

}  // namespace quorumlock::redis
