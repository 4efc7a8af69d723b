#pragma once

#include <string>

#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock::detail {

/// The options of one node: `own`, and those of the configuration that it leaves unset. The
/// authorities (ca_file, ca_dir) are taken together, and so are the certificate and its key.
TlsOptions merged(const TlsOptions& own, const TlsOptions& all);
/// Checks what can be checked without reading files. `name` is the options' place, such as "tls".
Result<void> check_tls(const std::string& name, const TlsOptions& options);

}  // namespace quorumlock::detail
