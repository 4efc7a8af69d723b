#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "failure.hpp"

namespace quorumlock::cli {

/// Members stay in the order in which they are written.
using Json = nlohmann::ordered_json;

/// Writes and flushes a text and an end of line. Throws Failure where it could not be written: a
/// token that nobody got to see is no success.
void print(const std::string& text, std::FILE* to = stdout);
/// One document on one line. Bytes that are no UTF-8 are replaced.
void print(const Json& document, std::FILE* to = stdout);

/// [{"node": ..., "vote": ..., "detail": ...}, ...]
Json votes_json(const Outcome& outcome);
/// {"error": {"code": ..., "message": ..., "exit_code": ..., ...}}
Json error_json(const Failure& failure);

}  // namespace quorumlock::cli
