#include "loop/primary_lookup.hpp"

#include <array>
#include <string>
#include <utility>

#include "loop/wall_clock.hpp"

namespace quorumlock::detail {

/// The connection to one Sentinel.
class PrimaryLookup::Question final : public uv::Socket::Events {
 public:
  Question(PrimaryLookup& lookup, std::size_t index, uv_loop_t* loop, uv::Open& open,
           uv::Names& names, core::Duration within)
      : lookup_(lookup), index_(index), socket_(loop, open, names, within, *this) {}

  void begin(const redis::HostPort& to) {
    reader_.reset();
    unwritten_.clear();
    lookup_.poll_->append_question(unwritten_);
    if (lookup_.tls_) {
      Result<std::unique_ptr<tls::Channel>> channel =
          lookup_.contexts_.connect(*lookup_.tls_, to.host, SystemWallClock().now_s(), last_);
      if (!channel) return fail(channel.error().what());
      channel_ = *std::move(channel);
    }
    socket_.connect_tcp(to.host, to.port);
  }
  void close() {
    if (channel_ != nullptr) {
      channel_->shut_down();
      write();
      channel_.reset();
    }
    socket_.close();
  }

 private:
  void on_awaiting(std::string_view whom) override {
    lookup_.poll_->on_awaiting(index_, whom);
    lookup_.conclude();
  }
  void on_open() override { write(); }
  void on_writable() override { write(); }
  void on_bytes(std::string_view bytes) override {
    if (channel_ == nullptr) return on_text(bytes);
    channel_->on_bytes(bytes);
    std::array<char, 1024> text;
    std::size_t size = 0;
    while ((size = channel_->read(text)) > 0) reader_.feed({text.data(), size});
    write();  // a part of the handshake, the question, or why the connection ends
    if (channel_->state() == tls::Channel::State::failed) {
      const std::string why = channel_->why();
      close();
      return fail(why);
    }
    on_text({});
  }
  void on_closed(std::string_view why) override { fail(why); }

  void on_text(std::string_view text) {
    reader_.feed(text);
    if (const redis::Reply* reply = reader_.next()) {
      close();
      lookup_.poll_->on_reply(index_, *reply);
      lookup_.conclude();
    } else if (!reader_.broken().empty()) {
      close();
      fail("sent what is not a reply: " + reader_.broken());
    }
  }

  void write() {
    if (channel_ == nullptr) {
      unwritten_.erase(0, socket_.write(unwritten_));
      return;
    }
    if (channel_->state() == tls::Channel::State::open) {
      channel_->write(std::exchange(unwritten_, {}));
    }
    channel_->wrote(socket_.write(channel_->output()));
  }
  void fail(std::string_view why) {
    lookup_.poll_->on_failed(index_, why);
    lookup_.conclude();
  }

  PrimaryLookup& lookup_;
  std::size_t index_;
  uv::Socket socket_;
  tls::Resumption last_;
  std::unique_ptr<tls::Channel> channel_;  ///< set if the endpoint has TLS
  redis::ReplyReader reader_;
  std::string unwritten_;
};

PrimaryLookup::PrimaryLookup(const redis::Endpoint& endpoint, uv_loop_t* loop, uv::Open& open,
                             uv::Names& names, core::Duration within, tls::Contexts& contexts,
                             std::function<void(const redis::PrimaryPoll&)> waits,
                             std::function<void(const redis::PrimaryPoll&)> done)
    : sentinels_(*endpoint.sentinels),
      tls_(endpoint.tls),
      contexts_(contexts),
      waits_(std::move(waits)),
      done_(std::move(done)) {
  if (tls_) tls_->server_name.reset();
  for (std::size_t i = 0; i < sentinels_.addresses.size(); ++i) {
    questions_.push_back(std::make_unique<Question>(*this, i, loop, open, names, within));
  }
}

PrimaryLookup::~PrimaryLookup() = default;

void PrimaryLookup::ask() {
  close();
  poll_.emplace(sentinels_);
  asking_ = true;
  waits_(*poll_);
  for (std::size_t i = 0; i < questions_.size() && asking_; ++i) {
    questions_[i]->begin(sentinels_.addresses[i]);
  }
}

void PrimaryLookup::close() {
  asking_ = false;
  for (const auto& question : questions_) question->close();
}

void PrimaryLookup::conclude() {
  if (!asking_) return;
  if (!poll_->is_decided()) return waits_(*poll_);
  close();
  done_(*poll_);
}

}  // namespace quorumlock::detail
