#include "transcript.hpp"

#include <cstdio>
#include <stdexcept>

namespace quorumlock::test {
namespace {

core::Duration span_of(const std::string& text) {
  if (text == "forever") return forever;
  std::size_t end = 0;
  const long long number = std::stoll(text, &end);
  const std::string unit = text.substr(end);
  if (unit == "ms") return number * 1ms;
  if (unit == "s") return number * 1s;
  if (unit == "min") return number * 1min;
  throw std::invalid_argument("not a duration: " + text);
}

/// Returns "9.898s": milliseconds are enough for a reader; the unit tests check the rest.
std::string seconds(core::Duration span) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3f", std::chrono::duration<double>(span).count());
  std::string digits = text.data();
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits + "s";
}
std::string seconds(core::Time time) {
  return seconds(time.time_since_epoch());
}

const std::map<std::string, Vote>& votes() {
  static const std::map<std::string, Vote> names = {
      {"granted", Vote::granted},  {"held", Vote::held},
      {"absent", Vote::absent},    {"no_script", Vote::no_script},
      {"loading", Vote::loading},  {"busy", Vote::busy},
      {"failed", Vote::failed},    {"not_enrolled", Vote::not_enrolled},
      {"replanted", Vote::absent}, {"refuses_writes", Vote::refuses_writes}};
  return names;
}

/// Returns "2 granted, 1 held by another".
std::string counted(const core::Tally& tally) {
  std::map<Vote, int> counts;
  for (const int node : tally.nodes()) ++counts[tally.vote(node)];
  std::string text;
  for (const auto& [vote, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(describe(vote));
  }
  return text;
}

int node_of(const std::string& name) {
  return std::stoi(name.substr(1)) - 1;
}

}  // namespace

Transcript::Words::Words(const std::string& line) {
  std::istringstream in(line);
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos) {
      words.push_back(word);
    } else {
      settings[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
}

std::string Transcript::Words::setting(const std::string& name, const std::string& otherwise) {
  const auto found = settings.find(name);
  if (found == settings.end()) return otherwise;
  const std::string value = found->second;
  settings.erase(found);
  return value;
}

core::Duration Transcript::Words::span(const std::string& name, const std::string& otherwise) {
  return span_of(setting(name, otherwise));
}

std::string Transcript::play(const std::string& line) {
  Words words(line);
  try {
    const core::Time begun = driver_ ? driver_->now : core::Time();
    const std::string said = carry_out(words);
    if (!words.settings.empty()) return "unknown setting: " + words.settings.begin()->first + "\n";
    return said + collect(begun);
  } catch (const std::exception& error) {
    return std::string("cannot play this: ") + error.what() + "\n";
  }
}

std::string Transcript::carry_out(Words& line) {
  const std::string what = line.words.at(0);
  if (what == "nodes") {
    begin(line);
  } else if (!driver_) {
    throw std::invalid_argument("a transcript begins with nodes N");
  } else if (what == "acquire") {
    acquire(line);
  } else if (what == "advance") {
    driver_->pass(span_of(line.words.at(1)));
  } else if (what == "extend") {
    if (!driver_->extend(user(line.words.at(1)).claim, line.span("ttl", "10s"))) return "refused\n";
  } else if (what == "downgrade") {
    if (!driver_->downgrade(user(line.words.at(1)).claim)) return "refused\n";
  } else if (what == "release") {
    if (!driver_->release(user(line.words.at(1)).claim)) return "refused\n";
  } else if (what == "detach") {
    driver_->engine().detach(driver_->now, user(line.words.at(1)).claim);
  } else if (what == "cancel") {
    driver_->cancel(user(line.words.at(1)).waiter);
  } else if (what == "close") {
    driver_->close();
  } else if (what == "status") {
    const core::Engine& engine = driver_->engine();
    if (!engine.busy() && engine.deadline() == core::never) return "at rest\n";
    return std::string(engine.busy() ? "busy" : "idle") + ", " +
           std::to_string(engine.unanswered()) + " unanswered, " +
           (engine.deadline() == core::never ? "nothing due"
                                             : "due at " + seconds(engine.deadline())) +
           "\n";
  } else {
    tell_nodes(line);
  }
  return {};
}

void Transcript::begin(Words& line) {
  const core::Engine::Config config{.nodes = std::stoi(line.words.at(1)),
                                    .retry_delay = line.span("delay", "50ms"),
                                    .retry_jitter = line.span("jitter", "0s"),
                                    .fencing = line.setting("fencing", "no") == "yes"};
  driver_ = std::make_unique<EngineDriver>(config);
}

void Transcript::acquire(Words& line) {
  core::Terms terms;
  terms.ttl = line.span("ttl", "10s");
  terms.stop_margin = line.span("margin", "1s");
  terms.max_hold = line.span("max_hold", "forever");
  terms.max_renewals = std::stoi(line.setting("max_renewals", "-1"));
  terms.auto_extend = line.setting("renew", "yes") == "yes";
  if (line.setting("mode", "exclusive") == "shared") terms.mode = LockMode::shared;
  names_.push_back(line.words.at(1));
  const core::UserId id = names_.size() - 1;
  const core::Duration wait = line.span("wait", "0s");
  const bool ordered = line.setting("order", "unordered") == "fifo";
  std::istringstream listed(line.setting("keys", "key"));
  std::vector<std::string> keys;
  for (std::string key; std::getline(listed, key, ',');) keys.push_back(key);
  const int permits = std::stoi(line.setting("permits", "0"));
  users_[names_.back()].waiter = permits != 0
                                     ? driver_->acquire_permit(id, permits, wait, ordered)
                                     : driver_->acquire_all(id, terms, wait, keys, ordered);
}

void Transcript::tell_nodes(Words& line) {
  const std::string what = line.words.at(0);
  std::vector<std::string> nodes(line.words.begin() + 1, line.words.end());
  if (what == "reply") {
    // The vote; after a colon, the node's counter.
    const std::string& said = nodes.back();
    const std::size_t colon = said.find(':');
    core::Answer answer{votes().at(said.substr(0, colon))};
    answer.replanted = said.starts_with("replanted");
    answer.free_slot = std::stoi(line.setting("free", "0"));
    if (colon != said.npos) answer.fence = std::stoull(said.substr(colon + 1));
    nodes.pop_back();
    for (const std::string& node : nodes) driver_->reply(node_of(node), answer);
    return;
  }
  if (what == "place") {
    const std::vector<std::string> places = {"first", "next", "behind", "far"};
    const auto place = std::ranges::find(places, nodes.back());
    if (place == places.end()) throw std::invalid_argument("no such place: " + nodes.back());
    nodes.pop_back();
    core::Place told{static_cast<int>(place - places.begin())};
    told.free = line.setting("free", "no") == "yes";
    told.slot = std::stoi(line.setting("slot", "0"));
    told.due = line.span("due", "0s");
    told.greatest_ticket = std::stoull(line.setting("greatest", "0"));
    for (const std::string& node : nodes) {
      const auto& asked = driver_->unanswered(node_of(node));
      const std::size_t entries = asked.empty() ? 1 : asked.front().entries.size();
      driver_->reply(node_of(node), std::vector(entries, told));
    }
    return;
  }
  if (what == "wake") {
    const std::uint64_t waiter = std::stoull(nodes.back());
    nodes.pop_back();
    const int slot = std::stoi(line.setting("slot", "0"));
    for (const std::string& node : nodes) driver_->wake(node_of(node), waiter, slot);
    return;
  }
  for (const std::string& node : nodes) {
    if (what == "late") {
      driver_->time_out(node_of(node));
    } else if (what == "lose") {
      driver_->lose(node_of(node));
    } else if (what == "stall") {
      driver_->link(node_of(node), LinkState::stalled, Vote::stalled);
    } else if (what == "quarantine") {
      driver_->link(node_of(node), LinkState::quarantined, Vote::quarantined);
    } else if (what == "back") {
      driver_->link(node_of(node), LinkState::up, Vote::pending);
    } else {
      throw std::invalid_argument("no such command: " + what);
    }
  }
}

Transcript::User& Transcript::user(const std::string& name) {
  return users_.at(name);
}

/// Returns the outputs since the last line; those after time had passed have their time.
std::string Transcript::collect(core::Time begun) {
  std::string text;
  for (const Seen& seen : driver_->seen()) {
    if (seen.when != begun) text += "[" + seconds(seen.when) + "] ";
    text += std::visit([this](const auto& what) { return shown(what); }, seen.what) + "\n";
  }
  driver_->forget_seen();
  return text;
}

std::string Transcript::token_name(const std::string& token) {
  return tokens_.emplace(token, "t" + std::to_string(tokens_.size() + 1)).first->second;
}

std::string Transcript::user_name(core::UserId id) {
  return names_.at(id % EngineDriver::lease_of(0));
}

std::string Transcript::shown(const core::ClockJumped& jumped) {
  return "n" + std::to_string(jumped.node + 1) + " has a wrong clock";
}

std::string Transcript::shown(const core::ClockStood& stood) {
  return "our clock stood still: " + to_text(stood.ahead) + " are ahead of it";
}

std::string Transcript::shown(const Sent& sent) {
  const Command& command = sent.command;
  if (command.tag.kind == CommandKind::queue) {
    std::string entries;
    for (std::size_t i = 0; i < command.entries.size(); ++i) {
      const auto& [waiter, ticket] = command.entries[i];
      entries += (entries.empty() ? "" : ", ") + std::to_string(waiter) + " with ticket " +
                 std::to_string(ticket);
      if (command.keys[i] != "key") entries += " of " + command.keys[i];
    }
    return to_text(sent.to) + " <- in line" + (command.shared ? " to read: " : ": ") + entries;
  }
  std::string text = to_text(sent.to) + " <- " + std::string(to_text(command.tag.kind)) + " " +
                     token_name(command.token);
  for (std::size_t i = 0; command.keys.size() > 1 && i < command.keys.size(); ++i) {
    text += (i == 0 ? " of " : " and ") + command.keys[i];
  }
  if (command.slot != 0) text += " in slot " + std::to_string(command.slot);
  const bool raises = command.tag.kind == CommandKind::raise;
  const bool releases = command.tag.kind == CommandKind::release;
  if (command.shared && !releases && !raises) text += " to read";
  if (!releases && !raises) text += " for " + seconds(command.ttl);
  if (command.fence != 0 && !releases) {
    text += (raises ? " to " : ", fence ") + std::to_string(command.fence);
  }
  if (command.ordered) {
    text += command.waiter == 0 ? ", if nobody waits"
                                : ", as " + std::to_string(command.waiter) + " with ticket " +
                                      std::to_string(command.ticket);
  }
  if (releases && command.waiter != 0) text += ", " + std::to_string(command.waiter) + " leaves";
  if (command.not_woken != 0) text += ", not waking " + std::to_string(command.not_woken);
  if (command.tag.with_source) text += ", with the script's source";
  return text;
}

std::string Transcript::shown(const core::Listen& /*listen*/) {
  return "listens for its waiters";
}

std::string Transcript::shown(const core::Acquired& acquired) {
  users_[user_name(acquired.user)].claim = acquired.claim;
  const core::Claim* claim = driver_->engine().claim(acquired.claim);
  return user_name(acquired.user) + " holds " + token_name(std::string(claim->token())) +
         " until " + seconds(claim->deadline) + ", attempt " + std::to_string(acquired.attempts) +
         (claim->fencing.number == 0 ? ""
                                     : ", fencing token " + std::to_string(claim->fencing.number));
}

std::string Transcript::shown(const core::Refused& refused) {
  return user_name(refused.user) + " is refused, " + std::string(to_text(refused.why)) + ": " +
         counted(refused.tally) + "; attempt " + std::to_string(refused.attempts);
}

std::string Transcript::shown(const core::Renewed& renewed) {
  return user_name(renewed.user) + " is renewed until " +
         seconds(driver_->engine().claim(renewed.claim)->deadline);
}

std::string Transcript::shown(const core::AtRisk& risk) {
  return user_name(risk.user) + " is at risk";
}

std::string Transcript::shown(const core::Ended& ended) {
  return user_name(ended.user) + " ends, " + std::string(to_text(ended.why)) + ": " +
         counted(ended.tally);
}

std::string Transcript::shown(const core::Extended& extended) {
  const std::string name = user_name(extended.user);
  if (!extended.why) return name + " is extended until " + seconds(extended.valid_until);
  return name + " is not extended, " + std::string(to_text(*extended.why)) + ": " +
         counted(extended.tally);
}

std::string Transcript::shown(const core::Released& released) {
  const std::string name = user_name(released.user);
  if (!released.why) return name + " is released";
  return name + " is not released, " + std::string(to_text(*released.why)) + ": " +
         counted(released.tally);
}

}  // namespace quorumlock::test
