#pragma once

#include <cstdint>
#include <string_view>

#include "wire/reply.hpp"

namespace quorumlock::test {

/// A reply of a server that has a text; the text must outlive it.
inline redis::Reply made_reply(redis::Reply::Type type, std::string_view text) {
  return {type, 0, text, {}};
}
inline redis::Reply made_error(std::string_view text) {
  return made_reply(redis::Reply::Type::error, text);
}
inline redis::Reply made_number(std::int64_t number) {
  return {redis::Reply::Type::integer, number, {}, {}};
}

}  // namespace quorumlock::test
