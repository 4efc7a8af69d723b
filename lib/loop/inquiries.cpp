#include "loop/inquiries.hpp"

#include "verbs/keys.hpp"
#include "wire/words.hpp"

namespace quorumlock::detail {

void Inquiries::begin(Inquiry& inquiry) {
  if (closed_) {
    return later_.add([&inquiry] { inquiry.dismiss(); });
  }
  inquiry.id = all_.take();
  all_[inquiry.id] = &inquiry;
  inquiry.start(driver_);
}

void Inquiries::ask(const Inquiry& inquiry, int node, std::uint16_t question,
                    std::span<const std::string_view> words) {
  bytes_.clear();
  redis::append_command(bytes_, words);
  session_.ask(Clock::now(), node, {inquiry.id, question, core::CommandKind::query}, bytes_);
}

void Inquiries::end(const Inquiry& inquiry) {
  alarms_.clear(inquiry.id.index);
  all_.give_back(inquiry.id);
}

void Inquiries::listen_for_leaders(const std::string& key, bool on) {
  session_.messages().listen(Clock::now(), std::string(redis::led_prefix) + key, on);
}

void Inquiries::check_messages() {
  session_.messages().ping(Clock::now());
}

void Inquiries::carry_out(const Session::Answered& answered) {
  if (Inquiry** inquiry = all_.find(answered.tag.claim)) (*inquiry)->answered(driver_, answered);
}

void Inquiries::carry_out(const Session::Heard& heard) {
  all_.for_each([&](core::SlotId id) { all_[id]->heard(driver_, heard.key); });
}

void Inquiries::advance(core::Time now) {
  while (const auto due = alarms_.pop_due(now)) all_[all_.at(*due)]->due(driver_);
}

void Inquiries::close() {
  closed_ = true;
  all_.for_each([this](core::SlotId id) {
    Inquiry* inquiry = all_[id];
    end(*inquiry);
    inquiry->dismiss();
  });
}

}  // namespace quorumlock::detail
