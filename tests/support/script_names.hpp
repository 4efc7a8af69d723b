#pragma once

#include <string_view>

#include "redis/scripts.hpp"

namespace quorumlock::test {

/// The name of the script with this source; the source itself if it is no script of the library.
inline std::string_view script_name(std::string_view source) {
  using namespace redis;
  if (source == acquire_script.source) return "acquire";
  if (source == acquire_ordered_script.source) return "acquire_ordered";
  if (source == acquire_all_script.source) return "acquire_all";
  if (source == raise_all_script.source) return "raise_all";
  if (source == renew_all_script.source) return "renew_all";
  if (source == release_all_script.source) return "release_all";
  if (source == acquire_shared_script.source) return "acquire_shared";
  if (source == renew_shared_script.source) return "renew_shared";
  if (source == acquire_permit_script.source) return "acquire_permit";
  if (source == renew_permit_script.source) return "renew_permit";
  if (source == release_permit_script.source) return "release_permit";
  if (source == queue_script.source) return "queue";
  if (source == raise_script.source) return "raise";
  if (source == renew_script.source) return "renew";
  if (source == release_script.source) return "release";
  if (source == adopt_script.source) return "adopt";
  if (source == candidate_script.source) return "candidate";
  if (source == replace_script.source) return "replace";
  if (source == enrol_script.source) return "enrol";
  if (source == repair_script.source) return "repair";
  return source;
}

}  // namespace quorumlock::test
