#include "serve/gate.hpp"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <utility>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

constexpr std::size_t shortest_token = 16;
constexpr std::size_t longest_token = 4096;

/// Reads the first line. Throws Failure.
std::string token_of(const std::string& file) {
  std::ifstream from(file);
  if (!from) throw Failure::unreadable("--token-file is \"" + file + "\", which cannot be read");
  std::string token;
  if (!std::getline(from, token)) {
    throw Failure::usage("--token-file is \"" + file +
                         "\", which is empty or is no file: give a file whose first line is "
                         "the token");
  }
  token.erase(token.find_last_not_of(" \t\r") + 1);
  if (token.size() < shortest_token || token.size() > longest_token) {
    throw Failure::usage("the token in --token-file " + file + " has " +
                         std::to_string(token.size()) + " letters: give it at least " +
                         std::to_string(shortest_token) + ", such as openssl rand -hex 32 prints");
  }
  return token;
}

std::string decoded_base64(const std::string& text) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char letter : text) {
    const auto value = letters.find(letter);
    if (value == letters.npos) break;
    held = (held << 6 | static_cast<std::uint32_t>(value)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xff);
  }
  return bytes;
}

/// The words after a scheme, if the header has that scheme.
std::string after_scheme(const std::string& authorization, const std::string& scheme) {
  if (::strncasecmp(authorization.c_str(), scheme.c_str(), scheme.size()) != 0) return {};
  const auto begin = authorization.find_first_not_of(' ', scheme.size());
  return begin == authorization.npos ? std::string() : authorization.substr(begin);
}

/// Whether the page of another site makes the request. Browsers add a client's certificate by
/// themselves.
bool is_from_elsewhere(const HttpRequest& request) {
  return request.header("sec-fetch-site") == "cross-site" &&
         request.header("sec-fetch-mode") != "navigate";
}

HttpReply from_elsewhere() {
  return HttpReply::sentence(403, "a page of another site may not read this");
}

}  // namespace

bool equal_in_constant_time(const std::string& given, const std::string& expected) {
  unsigned different = given.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = expected.empty() ? '\0' : expected[i % expected.size()];
    different |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other);
  }
  return different == 0;
}

std::string token_in(const std::string& authorization) {
  if (std::string token = after_scheme(authorization, "Bearer "); !token.empty()) return token;
  const std::string login = decoded_base64(after_scheme(authorization, "Basic "));
  const auto colon = login.find(':');
  return colon == login.npos ? std::string() : login.substr(colon + 1);
}

Gate::Gate(const ListenAddress& address, std::optional<std::string> token_file, bool has_client_ca)
    : host_(address.host), token_file_(std::move(token_file)), has_client_ca_(has_client_ca) {
  if (token_file_) {
    (void)token_of(*token_file_);
  } else if (!address.loopback && !has_client_ca) {
    throw Failure::usage("--listen is " + address.host + ":" + address.port +
                         ", which other machines can reach: give --token-file FILE, and they have "
                         "to show the token in that file; or --client-ca FILE, and they have to "
                         "show a certificate of an authority in that file; or listen on 127.0.0.1");
  }
}

bool Gate::is_ours(const std::string& host) const {
  std::string name = host;
  // The port may be another one: that of a tunnel.
  const auto colon = name.rfind(':');
  if (colon != name.npos && name.find(']', colon) == name.npos) name.erase(colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  for (char& letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name == "localhost" || name == "127.0.0.1" || name == "::1" || name == host_;
}

std::optional<HttpReply> Gate::refusal(const HttpRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpReply reply =
        HttpReply::sentence(405, request.method + " is not allowed: nothing can be changed here");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  }
  if (request.path == "/healthz") return std::nullopt;  // it has no secrets, and is asked for often
  if (has_client_ca_ && request.has_certificate) {
    return is_from_elsewhere(request) ? std::optional(from_elsewhere()) : std::nullopt;
  }
  if (token_file_) {
    try {
      if (equal_in_constant_time(token_in(request.header("authorization")),
                                 token_of(*token_file_))) {
        return std::nullopt;
      }
    } catch (const Failure& failure) {
      return HttpReply::sentence(503, failure.what());
    }
  }
  if (token_file_ || has_client_ca_) return unauthorized(request);
  if (!is_ours(request.header("host"))) {
    return HttpReply::sentence(403, "the Host header is \"" + request.header("host") +
                                        "\": without a token only localhost, 127.0.0.1 and ::1 "
                                        "are answered");
  }
  if (is_from_elsewhere(request)) return from_elsewhere();
  return std::nullopt;
}

HttpReply Gate::unauthorized(const HttpRequest& request) const {
  std::string words;
  if (has_client_ca_) {
    words = "this client may not ask: " + request.no_certificate +
            "; show one of an authority in --client-ca" + (token_file_ ? ", or " : "");
  }
  if (!token_file_) return HttpReply::sentence(401, words);
  HttpReply reply = HttpReply::sentence(
      401, words + "give the token as Authorization: Bearer TOKEN, or as the password of any user");
  reply.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"quorumlock\"");
  reply.headers.emplace_back("WWW-Authenticate", "Basic realm=\"quorumlock\", charset=\"UTF-8\"");
  return reply;
}

}  // namespace quorumlock::cli
