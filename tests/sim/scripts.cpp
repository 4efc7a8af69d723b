#include "sim/scripts.hpp"

#include <algorithm>
#include <iterator>

namespace quorumlock::sim {
namespace {

constexpr const redis::Script* known_scripts[] = {
    &redis::acquire_script,        &redis::acquire_all_script,    &redis::acquire_ordered_script,
    &redis::acquire_permit_script, &redis::acquire_shared_script, &redis::adopt_script,
    &redis::announce_script,       &redis::candidate_script,      &redis::enrol_script,
    &redis::inspect_script,        &redis::leader_script,         &redis::locks_script,
    &redis::queue_script,          &redis::raise_script,          &redis::raise_all_script,
    &redis::release_script,        &redis::release_all_script,    &redis::release_permit_script,
    &redis::release_token_script,  &redis::renew_script,          &redis::renew_all_script,
    &redis::renew_permit_script,   &redis::renew_shared_script,   &redis::repair_script,
    &redis::replace_script,        &redis::withdraw_script,
};

const redis::Script* known_by(std::string_view redis::Script::*name, std::string_view text) {
  const auto* const found = std::ranges::find_if(
      known_scripts, [&](const redis::Script* each) { return each->*name == text; });
  return found != std::end(known_scripts) ? *found : nullptr;
}

}  // namespace

const redis::Script* script_by_sha(std::string_view sha1) {
  return known_by(&redis::Script::sha1, sha1);
}

const redis::Script* script_by_source(std::string_view source) {
  return known_by(&redis::Script::source, source);
}

}  // namespace quorumlock::sim
