#include "serve/site.hpp"

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <quorumlock/metrics.hpp>

#include "reports.hpp"
#include "serve/documents.hpp"
#include "serve/events.hpp"
#include "serve/page.hpp"
#include "status_table.hpp"

namespace quorumlock::cli {
namespace {

/// More viewers are asked to come again; each has a thread of its own.
constexpr int most_streams = 32;
constexpr std::size_t most_rows = 500;
constexpr std::size_t longest_name = 1024;
constexpr std::string_view of_a_resource = "/api/locks/";

HttpReply json_reply(int status, const Json& document) {
  return {.status = status, .type = "application/json", .body = text_of(document)};
}

HttpReply file(const char* type, std::string_view text) {
  return {.type = type, .body = std::string(text)};
}

HttpReply json_error(int status, const std::string& code, const std::string& sentence) {
  return json_reply(status, {{"error", {{"code", code}, {"message", sentence}}}});
}

HttpReply busy(const std::string& sentence) {
  HttpReply reply = json_error(503, "busy", sentence);
  reply.headers.emplace_back("Retry-After", "2");
  return reply;
}

HttpReply no_answer() {
  return busy("there is no answer of the nodes yet, or too much else is asked: try again");
}

/// A number of a query. Returns nothing if it is not one, or greater than `most`.
std::optional<std::size_t> number_of(const std::string& text, std::size_t most) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number > most) return std::nullopt;
  return number;
}

std::optional<LocksWindow::Order> order_of(const std::string& word) {
  using Order = LocksWindow::Order;
  static const std::map<std::string, Order> orders = {{"resource", Order::resource},
                                                      {"waiters", Order::waiters},
                                                      {"held_for", Order::held_for},
                                                      {"expires_in", Order::expires_in}};
  const auto found = orders.find(word);
  return found == orders.end() ? std::nullopt : std::optional(found->second);
}

/// Releases its place when the last copy of what holds it is gone.
std::shared_ptr<void> place_in(std::atomic<int>& count, int most) {
  const bool is_free = ++count <= most;
  std::shared_ptr<void> place(&count, [&count](void*) { --count; });
  return is_free ? place : nullptr;
}

}  // namespace

HttpReply Site::answer(const HttpRequest& request) {
  if (std::optional<HttpReply> refused = gate_.refusal(request)) return *std::move(refused);
  const std::string& path = request.path;
  if (path == "/healthz") return HttpReply::sentence(200, "alive");  // anybody may ask for it
  request.let_in();
  if (path == "/") return file("text/html; charset=utf-8", page_html);
  if (path == "/page.css") return file("text/css; charset=utf-8", page_css);
  if (path == "/page.js") return file("text/javascript; charset=utf-8", page_js);
  if (path == "/readyz") return ready();
  if (path == "/metrics") return metrics(request);
  if (path == "/api/status") return status();
  if (path == "/api/doctor") return doctor();
  if (path == "/api/locks") return locks(request);
  if (path == "/api/events") return events(request);
  if (path.starts_with(of_a_resource)) return resource(path.substr(of_a_resource.size()));
  return HttpReply::sentence(
      404,
      "there is no such page: see /, /metrics, /healthz, /readyz, /api/status, "
      "/api/doctor, /api/locks, /api/locks/RESOURCE and /api/events");
}

HttpReply Site::ready() {
  const auto seen = observer_.status.fresh("");
  if (seen == nullptr) return HttpReply::sentence(503, "there is no answer of the nodes yet");
  if (!seen->value) return HttpReply::sentence(503, seen->value.error().what());
  const ClusterStatus& status = *seen->value;
  return HttpReply::sentence(status.has_quorum() ? 200 : 503, verdict(status));
}

HttpReply Site::metrics(const HttpRequest& request) {
  const auto seen = observer_.status.fresh("");
  if (seen == nullptr || !seen->value) return no_answer();
  const bool open =
      request.header("accept").find("application/openmetrics-text") != std::string::npos;
  const Result<std::string> text =
      metrics_text(coordinator_.stats(), *seen->value, {.openmetrics = open});
  if (!text) return HttpReply::sentence(500, text.error().what());
  return {.type = open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                       : "text/plain; version=0.0.4; charset=utf-8",
          .body = *text};
}

HttpReply Site::status() {
  const auto seen = observer_.status.fresh("");
  if (seen == nullptr) return no_answer();
  if (!seen->value) return json_reply(503, error_document(seen->value.error()));
  return json_reply(200, status_json(*seen->value));
}

HttpReply Site::doctor() {
  const auto seen = observer_.status.fresh("");
  if (seen == nullptr) return no_answer();
  if (!seen->value) return json_reply(503, error_document(seen->value.error()));
  return json_reply(200, findings_json(findings_of(*seen->value)));
}

HttpReply Site::locks(const HttpRequest& request) {
  const std::string pattern = request.param("pattern", all_locks);
  if (pattern.empty() || pattern.size() > longest_name) {
    return json_error(400, "usage", "pattern is empty or too long: give one such as orders:*");
  }
  const auto seen = observer_.locks.fresh(pattern);
  if (seen == nullptr) return no_answer();
  if (!seen->value) return json_reply(503, error_document(seen->value.error()));
  return json_reply(200, locks_json(*seen->value));
}

HttpReply Site::resource(const std::string& name) {
  if (name.empty() || name.size() > longest_name) {
    return json_error(400, "usage", "the name of the resource is empty or too long");
  }
  const auto seen = observer_.resources.fresh(name);
  if (seen == nullptr) return no_answer();
  if (!seen->value) {
    const bool is_name = seen->value.error().code() == Errc::invalid_argument;
    return json_reply(is_name ? 400 : 503, lock_event(name, seen->value));
  }
  const int answered = seen->value->count(Vote::held) + seen->value->count(Vote::absent);
  return json_reply(answered >= seen->value->quorum ? 200 : 503, lock_event(name, seen->value));
}

HttpReply Site::events(const HttpRequest& request) {
  const auto order = order_of(request.param("order", "resource"));
  const auto from = number_of(request.param("from", "0"), 10'000'000);
  const auto count = number_of(request.param("count", "100"), most_rows);
  const std::string filter = request.param("filter");
  const std::string resource = request.param("resource");
  if (!order || !from || !count || filter.size() > longest_name || resource.size() > longest_name) {
    return json_error(
        400, "usage",
        "give order=resource, waiters, held_for or expires_in, numbers from and count (" +
            std::to_string(most_rows) + " at most), and texts filter and resource");
  }
  std::shared_ptr<void> place = place_in(streams_, most_streams);
  if (place == nullptr) {
    return busy("there are " + std::to_string(most_streams) + " viewers already");
  }
  auto events = std::make_shared<Events>(
      observer_, LocksWindow{.filter = filter, .order = *order, .from = *from, .count = *count},
      resource);
  if (!events->possible()) return busy("too many resources are looked at already");
  HttpReply reply{.type = "text/event-stream", .body = {}};
  reply.more = [events, place = std::move(place)] { return events->next(); };
  return reply;
}

}  // namespace quorumlock::cli
