#include "api/questions.hpp"

#include <utility>

#include "loop/driver.hpp"

namespace quorumlock::detail {

KeptReply::KeptReply(const redis::Reply& reply)
    : type(reply.type), integer(reply.integer), text(reply.text) {
  for (const redis::Reply& element : reply.elements) elements.emplace_back(element);
}

void Questions::dismiss() {
  auto then = std::move(handler);
  delete this;
  then({});
}

void Questions::start(Driver& driver) {
  answers_.resize(questions.size());
  to_come_ = questions.size();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::vector<std::string_view> words(questions[i].words.begin(), questions[i].words.end());
    driver.inquiries().ask(*this, questions[i].node, static_cast<std::uint16_t>(i), words);
  }
}

void Questions::answered(Driver& driver, const Session::Answered& answer) {
  std::optional<Answer>& mine = answers_[answer.tag.round];
  if (mine) return;  // an answer after its timeout
  mine.emplace();
  if (answer.reply != nullptr) {
    mine->reply.emplace(*answer.reply);
    mine->run = driver.link(answer.node).greeting().facts().run();
  } else {
    mine->trouble = driver.trouble(answer.node);
  }
  if (--to_come_ > 0) return;
  driver.inquiries().end(*this);
  std::vector<Answer> all;
  for (std::optional<Answer>& one : answers_) all.push_back(*std::move(one));
  auto then = std::move(handler);
  delete this;
  then(std::move(all));
}

}  // namespace quorumlock::detail
