#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/good_server.hpp"
#include "fuzz/require.hpp"
#include "support/seeded_random.hpp"
#include "wire/link.hpp"
#include "wire/words.hpp"

namespace quorumlock::fuzz {

/// A link to a hostile server, and what must hold of the link whatever that server does.
class LinkHarness {
 public:
  using Link = redis::Link;

  explicit LinkHarness(redis::Endpoint endpoint)
      : link_({std::move(endpoint), std::chrono::milliseconds(500), std::chrono::seconds(2), {}},
              random_) {
    link_.start(now_);
    pull();
  }

  void open() {
    if (!connecting_) return;  // a socket opens once for each Connect
    connecting_ = false;
    written_ = 0;
    link_.on_open();
    pull();
  }
  void close() {
    if (!connected_) return;
    connected_ = connecting_ = false;
    link_.on_closed(now_, "closed by the server");
    pull();
  }
  void feed(std::string_view bytes) {
    link_.on_bytes(bytes);
    pull();
  }
  void send(core::CommandKind kind) {
    std::string bytes;
    redis::append_command(bytes, {"PING", std::to_string(commands_.size())});
    if (redis::says_enrolment(kind)) bytes[1] = '6';  // the link appends four words
    const auto number = static_cast<std::uint32_t>(commands_.size());
    commands_.push_back({});
    written_ += bytes.size() + longest_own_words;
    link_.send(now_, {{number, 0}, 1, kind, false}, bytes);
    pull();
  }
  void wrote(std::size_t most) {
    link_.wrote(std::min(most, link_.output().size()));
    pull();
  }
  /// Lets time pass until something is due.
  void advance() {
    if (link_.deadline() == core::never) return;
    now_ = std::max(now_, link_.deadline());
    link_.advance(now_);
    pull();
  }
  /// Answers all that is written as a good server would, for as long as that leads to more.
  void greet() {
    for (int rounds = 0; rounds < 4 && connected_ && !link_.output().empty(); ++rounds) {
      const std::vector<std::string> commands = commands_in(whole_commands());
      link_.wrote(link_.output().size());
      for (const std::string& command : commands) feed(good_answer(command));
    }
  }
  /// Ends the link: every command has its answer, and nothing comes after it.
  void stop() {
    link_.stop(now_);
    pull();
    require(answered_ == commands_.size(), "a command has no answer after the end");
    require(link_.deadline() == core::never, "something is due after the end");
    stopped_ = true;
    link_.on_bytes("+OK\r\n");
    link_.on_open();
    link_.on_closed(now_, "closed");
    link_.advance(now_ + std::chrono::hours(1));
    pull();
    require(link_.output().empty(), "something is to be written after the end");
    send(core::CommandKind::set);
    require(answered_ == commands_.size(), "a command has no answer when it is sent after the end");
  }
  [[nodiscard]] bool is_up() const { return state_ == core::LinkState::up; }

 private:
  struct Command {
    bool late = false;
    bool answered = false;
  };

  /// The output from the beginning of a command; the rest of a partly written command is left out.
  /// Scripts contain stars, but no lines that look like a command's first.
  [[nodiscard]] std::string_view whole_commands() const {
    const std::string_view output = link_.output();
    const std::size_t digits = output.find_first_not_of("0123456789", 1);
    const bool begins = output.starts_with('*') && digits > 1 && digits != output.npos &&
                        output.substr(digits).starts_with("\r\n$");
    if (begins) return output;
    const std::size_t next = output.find("\r\n*");
    return next == output.npos ? std::string_view() : output.substr(next + 2);
  }

  void pull() {
    for (;;) {
      const bool had_more = link_.may_have_more();
      const Link::Event* const event = link_.next(now_);
      if (event == nullptr) break;
      require(had_more, "it has more than it says");
      std::visit([this](const auto& what) { take(what); }, *event);
    }
    require(!link_.has_events(), "an event is left over");
    require(link_.trouble(now_).size() <= longest_sentence, "the last trouble is long");
    require(link_.output().size() <= written_ + longest_greeting, "the output grows by itself");
  }
  void take(const Link::Connect&) {
    require(!stopped_, "it connects after the end");
    require(!connected_, "it connects twice");
    connected_ = connecting_ = true;
  }
  void take(const Link::Disconnect&) {
    require(!stopped_, "it disconnects after the end");
    connected_ = connecting_ = false;
  }
  void take(const Link::Changed& changed) {
    require(!stopped_, "it changes after the end");
    const bool takes = changed.state == core::LinkState::up;
    // A node that refuses writes is still asked: it may take them by then.
    const bool refuses = takes && link_.greeting().writes_refused().has_value();
    require((changed.reason == Vote::pending || refuses) == takes,
            "the state and its reason disagree");
    require(!takes || connected_, "it is up without a connection");
    state_ = changed.state;
  }
  void take(const Link::Answered& answer) {
    const Vote vote = answer.answer.vote;
    require(answer.tag.claim.index < commands_.size(), "an answer belongs to no command");
    require(!std::exchange(commands_[answer.tag.claim.index].answered, true),
            "a command is answered twice");
    ++answered_;
    require(vote != Vote::pending || answer.tag.kind == core::CommandKind::query,
            "an answer says nothing");
    if (answer.reply != nullptr) {
      require(connected_, "a reply without a connection");
      std::size_t bytes = 0;
      std::size_t elements = 0;
      walk(*answer.reply, bytes, elements);
      require(bytes <= redis::ReplyReader::max_bytes, "a reply has too many bytes");
      require(elements <= redis::ReplyReader::max_elements, "a reply has too many elements");
    } else {
      static constexpr std::array without{
          Vote::disconnected,   Vote::unreachable,    Vote::unauthorized,    Vote::failed,
          Vote::stalled,        Vote::not_standalone, Vote::loading,         Vote::busy,
          Vote::refuses_writes, Vote::quarantined,    Vote::max_ttl_differs, Vote::groups_differ,
          Vote::terms_differ};
      require(std::ranges::find(without, vote) != without.end(),
              "an answer without a reply has the vote of one with a reply");
    }
  }
  void take(const Link::Greeted&) { link_.admit(now_); }
  void take(const Link::Repair&) {
    link_.repaired(now_, *link_.enrolment().ruling().founded, 0, 0);
  }
  void take(const Link::Enrolled&) { link_.follow(now_, link_.enrolment().ruling()); }
  void take(const Link::Late& late) {
    require(late.tag.claim.index < commands_.size(), "a command is late that nobody sent");
    Command& command = commands_[late.tag.claim.index];
    require(!command.answered, "a command is late after its answer");
    require(!command.late, "a command is late twice");
    command.late = true;
  }
  void take(const Link::Note& note) {
    require_sentence(note.why);
    require(note.why.size() <= longest_sentence, "a note is long");
  }
  void take(const Link::Writes&) {}
  void take(const Link::AskTimes&) {
    // A copy, since what the link learns may replace the nonce.
    const std::string nonce = link_.enrolment().wait().nonce();
    link_.hears_time(now_, nonce, "another", 1);
  }
  void take(const Link::StillDown&) {
    require(state_ == core::LinkState::down, "it is still down, and was not before");
  }
  /// Reads every part of the reply.
  static void walk(const redis::Reply& reply, std::size_t& bytes, std::size_t& elements) {
    ++elements;
    bytes += reply.text.size();
    if (!reply.text.empty()) last_byte_ = reply.text.front() + reply.text.back();
    for (const redis::Reply& element : reply.elements) walk(element, bytes, elements);
  }

  static constexpr std::size_t longest_sentence = 600;
  static constexpr std::size_t longest_own_words = 300;
  static constexpr std::size_t longest_greeting = 64 * 1024;  // includes all the scripts
  inline static volatile int last_byte_ = 0;

  test::SeededRandom random_;
  core::Time now_ = core::Time(std::chrono::hours(1));
  Link link_;
  core::LinkState state_ = core::LinkState::connecting;
  bool connected_ = false;   // or about to be
  bool connecting_ = false;  // Connect was asked for, and neither open() nor close() has come yet
  bool stopped_ = false;
  std::vector<Command> commands_;
  std::size_t answered_ = 0;
  std::size_t written_ = 0;  // bytes of commands since the connection began
};

}  // namespace quorumlock::fuzz
