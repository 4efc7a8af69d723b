#include "uv/names.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace quorumlock::uv {
namespace {

/// An answer that came when nobody waited for it serves the next attempt, if that follows within
/// this time: longer than the pause between two attempts.
constexpr Clock::duration answer_serves = std::chrono::seconds(2);

}  // namespace

void Name::seek(Clock::time_point now, Seeker& seeker) {
  const auto self = shared_from_this();
  if (std::exchange(unclaimed_, false) && now < answered_ + answer_serves) {
    return seeker.on_answer(answer_);
  }
  seekers_.push_back(&seeker);
  if (lookup_ == nullptr && make_) {
    part_.clear();
    try {
      lookup_ = make_();
      lookup_->begin(host_, *this);
    } catch (const std::exception& error) {
      Resolved none;
      none.why = std::string("cannot resolve the name: ") + error.what();
      on_answer(none);
    }
  } else if (!part_.empty()) {
    seeker.on_addresses(part_);
  }
  const bool waits = std::ranges::find(seekers_, &seeker) != seekers_.end();
  if (waits && worked_) seeker.on_addresses({&*worked_, 1});
}

void Name::leave(Seeker& seeker) {
  std::erase(seekers_, &seeker);
}

void Name::close() {
  make_ = nullptr;
  lookup_.reset();
}

/// Calls each seeker that has not left meanwhile.
template <class Call>
void Name::tell(Call&& call) {
  for (Seeker* const seeker : std::vector(seekers_)) {
    if (std::ranges::find(seekers_, seeker) != seekers_.end()) call(*seeker);
  }
}

void Name::on_part(const std::vector<Address>& so_far) {
  const auto self = shared_from_this();
  part_ = so_far;
  tell([&](Seeker& seeker) { seeker.on_addresses(part_); });
}

void Name::on_answer(const Resolved& answer) {
  const auto self = shared_from_this();
  answer_ = answer;
  lookup_.reset();  // the answer was its own
  answered_ = Clock::now();
  unclaimed_ = seekers_.empty() && !answer_.addresses.empty();
  if (worked_ && answer_.lacks(*worked_)) worked_.reset();
  if (worked_) {
    const auto best = std::ranges::find(answer_.addresses, *worked_);
    if (best != answer_.addresses.end()) std::rotate(answer_.addresses.begin(), best, best + 1);
  }
  tell([&](Seeker& seeker) {
    leave(seeker);
    seeker.on_answer(answer_);
  });
}

std::shared_ptr<Name> Names::at(const std::string& host) {
  if (std::shared_ptr<Name> known = names_[host].lock()) return known;
  std::erase_if(names_, [](const auto& entry) { return entry.second.expired(); });
  const auto name = std::make_shared<Name>(host, make_);
  names_[host] = name;
  return name;
}

void Names::close() {
  make_ = nullptr;
  for (const auto& [host, name] : names_) {
    if (const std::shared_ptr<Name> known = name.lock()) known->close();
  }
}

}  // namespace quorumlock::uv
