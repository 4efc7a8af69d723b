#include "log.hpp"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <quorumlock/event.hpp>

#include "output.hpp"

namespace quorumlock::cli {
namespace {

using std::chrono::system_clock;

std::atomic<LogFormat> current_format{LogFormat::text};
std::atomic<std::uint64_t> without_room{0};  ///< events that were not written

/// A time in UTC as text, such as "2026-11-25T13:42:44.123Z".
std::string utc(system_clock::time_point time) {
  using namespace std::chrono;
  const auto ms = floor<milliseconds>(time).time_since_epoch();
  const std::time_t second = system_clock::to_time_t(floor<seconds>(time));
  std::tm parts{};
  ::gmtime_r(&second, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>((ms - floor<seconds>(ms)).count()));
  return text;
}

/// Begins an object; members that are empty are left out.
Json begun_object(system_clock::time_point time, EventLevel level, std::string_view event) {
  return {{"time", utc(time)}, {"level", to_string(level)}, {"event", event}};
}

void add_text(Json& document, const char* name, const std::string& value) {
  if (!value.empty()) document[name] = value;
}

/// Writes a line in one piece, so that threads never mix lines.
void write_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool has_room() {
  pollfd standard_error{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&standard_error, 1, 0) == 1 && (standard_error.revents & POLLOUT) != 0;
}

}  // namespace

void set_log_format(LogFormat wanted) {
  current_format = wanted;
}

LogFormat log_format() {
  return current_format;
}

void log_sentence(EventLevel level, std::string_view event, std::string_view sentence,
                  const std::string& resource) {
  if (current_format == LogFormat::text) {
    const std::string line = "quorumlock: " + printable(sentence);
    return write_line(wrapped(line, Screen::of(STDERR_FILENO).width) + "\n");
  }
  Json document = begun_object(system_clock::now(), level, event);
  add_text(document, "resource", resource);
  document["reason"] = sentence;
  write_line(text_of(document) + "\n");
}

void log_event(const quorumlock::Event& event) {
  if (!has_room()) {
    without_room += 1 + event.left_out;
    return;
  }
  Json document = begun_object(event.time, event.level, to_string(event.kind));
  add_text(document, "node", event.node);
  add_text(document, "resource", event.resource);
  add_text(document, "holder", event.holder);
  document["reason"] = event.reason;
  if (const std::uint64_t left_out = event.left_out + without_room.exchange(0); left_out != 0) {
    document["left_out"] = left_out;
  }
  write_line(text_of(document) + "\n");
}

}  // namespace quorumlock::cli
