#include "wire/orphan.hpp"

#include "wire/words.hpp"

namespace quorumlock::redis {

void Orphan::leave(const std::string& run_id, std::optional<std::int64_t> client) {
  left_ = true;
  run_id_ = run_id;
  client_ = client;
}

bool Orphan::kill(std::string& out) {
  if (!client_) return false;
  asked_ = true;
  append_command(out, {"CLIENT", "KILL", "ID", std::to_string(*client_)});
  return true;
}

bool Orphan::on_reply(const Reply& reply) {
  asked_ = false;
  return reply.type != Reply::Type::error || reply.text.find("No such client") != reply.text.npos;
}

std::string Orphan::why_it_waits(const std::string& why) {
  return "does not let this user kill a lost connection, so a key that nobody holds may stay until "
         "its ttl is over: " +
         why;
}

void Orphan::disconnected() {
  asked_ = false;
  go_on_ = core::never;
}

void Orphan::forget() {
  disconnected();
  left_ = false;
}

}  // namespace quorumlock::redis
