#include "sim/world/records.hpp"

#include "admin/members_change.hpp"
#include "lock/config.hpp"
#include "lock/counter_bound.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

using redis::MembersChange;

std::string name_of(int node) {
  return "n" + std::to_string(node + 1);
}

redis::NodeNames named(const std::string& numbers) {
  redis::NodeNames list;
  for (const char number : numbers) list.push_back(std::string("n") + number);
  return list;
}

int server_named(const std::string& name) {
  return std::stoi(name.substr(1)) - 1;
}

std::string text_of(const Server& server, std::string_view key, TrueTime now) {
  const std::string* const text = server.at(now).text_of(std::string(key));
  return text != nullptr ? *text : std::string();
}

std::uint64_t counts_up_to(TrueTime now) {
  using namespace std::chrono_literals;
  return core::counts_up_to((1'700'000'000s + now) / 1us, {}, 1, core::Config().fencing_memory);
}

redis::ListTerms terms_of(const Draw& draw, bool other) {
  using namespace std::chrono_literals;
  const core::Duration max_ttl = other ? draw.other_max_ttl : draw.max_ttl;
  return {std::chrono::ceil<std::chrono::milliseconds>(max_ttl).count(),
          (other ? draw.other_memory : draw.memory) / 1s};
}

std::optional<redis::EnrolmentRecord> enrolment_of(const Server& server, TrueTime now) {
  const std::string* const text = server.at(now).text_of(std::string(redis::enrolment_key));
  return text != nullptr ? redis::EnrolmentRecord::parse(*text) : std::nullopt;
}

std::optional<redis::Membership> membership_of(const Server& server, TrueTime now) {
  MembersChange::Node node;
  node.carries(server.run().name(), text_of(server, redis::enrolment_key, now),
               text_of(server, redis::members_key, now));
  return node.membership;
}

std::optional<redis::Membership> membership_on_disk(const Server& server, TrueTime now) {
  const std::string record = text_of(server, redis::enrolment_key, now);
  MembersChange::Node node;
  node.carries(record.substr(0, record.find(':')), record,
               text_of(server, redis::members_key, now));
  return node.membership;
}

}  // namespace quorumlock::sim
