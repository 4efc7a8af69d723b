#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quorumlock::cli {

/// A request. It has no body, since no request can change anything.
struct HttpRequest {
  std::string method;
  std::string path;                            ///< decoded, without what follows the question mark
  std::map<std::string, std::string> query;    ///< the first value of each parameter
  std::map<std::string, std::string> headers;  ///< the first value, by the name in small letters
  /// Whether the client has shown a certificate of an authority in --client-ca, and if not, why.
  bool has_certificate = false;
  std::string no_certificate = {};
  /// To be called once it is known that the client may ask for what costs something. Until then its
  /// connection may be ended for another client's.
  std::function<void()> let_in = [] {};

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
  [[nodiscard]] std::string param(const std::string& name,
                                  const std::string& otherwise = {}) const {
    const auto found = query.find(name);
    return found == query.end() ? otherwise : found->second;
  }
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// If it is set, the reply has no end: the texts that this returns are sent one after the other.
  /// It blocks until there is something to send; an empty text is the end.
  std::function<std::string()> more = nullptr;

  /// A reply that is a sentence.
  static HttpReply sentence(int status, const std::string& words) {
    return {.status = status, .body = words + "\n"};
  }
};

/// Answers a request, on any thread.
using HttpSite = std::function<HttpReply(const HttpRequest&)>;

}  // namespace quorumlock::cli
