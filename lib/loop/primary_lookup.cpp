#include "loop/primary_lookup.hpp"

#include <string>
#include <utility>

namespace quorumlock::detail {

/// The connection to one Sentinel.
class PrimaryLookup::Question final : public uv::Socket::Events {
 public:
  Question(PrimaryLookup& lookup, std::size_t index, uv_loop_t* loop, uv::Open& open)
      : lookup_(lookup), index_(index), socket_(loop, open, *this) {}

  void begin(const redis::Address& to) {
    reader_.reset();
    unwritten_.clear();
    lookup_.poll_->append_question(unwritten_);
    socket_.connect_tcp(to.host, to.port);
  }
  void close() { socket_.close(); }

 private:
  void on_open() override { write(); }
  void on_writable() override { write(); }
  void on_bytes(std::string_view bytes) override {
    reader_.feed(bytes);
    if (const redis::Reply* reply = reader_.next()) {
      socket_.close();
      lookup_.poll_->on_reply(index_, *reply);
      lookup_.conclude();
    } else if (!reader_.broken().empty()) {
      socket_.close();
      fail("sent what is not a reply: " + reader_.broken());
    }
  }
  void on_closed(std::string_view why) override { fail(why); }

  void write() { unwritten_.erase(0, socket_.write(unwritten_)); }
  void fail(std::string_view why) {
    lookup_.poll_->on_failed(index_, why);
    lookup_.conclude();
  }

  PrimaryLookup& lookup_;
  std::size_t index_;
  uv::Socket socket_;
  redis::ReplyReader reader_;
  std::string unwritten_;
};

PrimaryLookup::PrimaryLookup(const redis::Sentinels& sentinels, uv_loop_t* loop, uv::Open& open,
                             std::function<void(const redis::PrimaryPoll&)> done)
    : sentinels_(sentinels), done_(std::move(done)) {
  for (std::size_t i = 0; i < sentinels.addresses.size(); ++i) {
    questions_.push_back(std::make_unique<Question>(*this, i, loop, open));
  }
}

PrimaryLookup::~PrimaryLookup() = default;

void PrimaryLookup::ask() {
  close();
  poll_.emplace(sentinels_);
  asking_ = true;
  for (std::size_t i = 0; i < questions_.size() && asking_; ++i) {
    questions_[i]->begin(sentinels_.addresses[i]);
  }
}

void PrimaryLookup::close() {
  asking_ = false;
  for (const auto& question : questions_) question->close();
}

void PrimaryLookup::conclude() {
  if (!asking_ || !poll_->is_decided()) return;
  close();
  done_(*poll_);
}

}  // namespace quorumlock::detail
