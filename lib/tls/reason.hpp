#pragma once

#include <string>
#include <string_view>

#include <openssl/x509.h>

namespace quorumlock::tls {

/// Returns the fault of a peer's certificate, in words that may follow the node's name. `expected`
/// is the host name or IP address that it should be for. Everything that is shown of the
/// certificate is printable and short.
std::string words_of_bad_certificate(X509_STORE_CTX* chain, std::string_view expected);

/// Returns the meaning of a code of OpenSSL's error queue for the handshake. `at_least_1_3`: we
/// accept TLS 1.3 only. `lacks_certificate`: the node asked for a client's certificate, and we have
/// none.
std::string words_of_failure(unsigned long code, bool at_least_1_3, bool lacks_certificate);

/// Takes the place of the node's own words if it ends a connection because we have no client's
/// certificate.
inline constexpr std::string_view wants_certificate =
    "wants a client certificate: set tls.cert_file and tls.key_file";

}  // namespace quorumlock::tls
