#pragma once

#include <optional>
#include <string>

#include "serve/http.hpp"
#include "serve/listen_address.hpp"

namespace quorumlock::cli {

/// Which requests `serve` answers: GET and HEAD only; if a token or an authority of clients is
/// configured, those that show the token or a certificate of that authority; and without them only
/// those whose Host is this machine, so that a page of another site cannot read ours by a name
/// that it points at 127.0.0.1.
class Gate {
 public:
  /// Throws Failure if the address can be reached from elsewhere and there is neither a token nor
  /// an authority, or if the token cannot be used.
  Gate(const ListenAddress& address, std::optional<std::string> token_file, bool has_client_ca);

  /// The refusal of a request; nothing if it may be answered.
  [[nodiscard]] std::optional<HttpReply> refusal(const HttpRequest& request) const;

 private:
  [[nodiscard]] HttpReply unauthorized(const HttpRequest& request) const;
  [[nodiscard]] bool is_ours(const std::string& host) const;

  const std::string host_;
  const std::optional<std::string> token_file_;
  const bool has_client_ca_;
};

/// Whether both are the same, in a time that does not depend on where they differ.
bool equal_in_constant_time(const std::string& given, const std::string& expected);
/// The token in an Authorization header: of "Bearer", or the password of "Basic", which browsers
/// ask for. Empty if there is none.
std::string token_in(const std::string& authorization);

}  // namespace quorumlock::cli
