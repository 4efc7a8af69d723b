#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <quorumlock/result.hpp>
#include <quorumlock/tls_options.hpp>

#include "tls/channel.hpp"

namespace quorumlock::tls {

/// Makes the channels of a coordinator. The certificates and keys that options name are read when
/// they are first needed and after their files have changed.
class Contexts {
 public:
  Contexts();
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  /// Checks that the files can be used. The error names the option and what is wrong.
  Result<void> check(const TlsOptions& options);
  /// Begins a connection to `host`. The certificates must be valid at `wall_time`, in seconds since
  /// 1970. `last` is of the same node with the same options.
  Result<std::unique_ptr<Channel>> connect(const TlsOptions& options, std::string_view host,
                                           std::int64_t wall_time, Resumption& last);

 private:
  struct Loaded;
  Result<Loaded*> load(const TlsOptions& options);

  std::vector<std::shared_ptr<Loaded>> loaded_;
};

}  // namespace quorumlock::tls
