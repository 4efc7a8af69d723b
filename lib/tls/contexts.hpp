#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>

#include "tls/channel.hpp"
#include "tls/files.hpp"

namespace quorumlock::tls {

/// Makes the channels of a coordinator, with the certificates and keys that were read last.
class Contexts {
 public:
  Contexts();
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  /// Initialises OpenSSL, which ends at the exit of the process: static objects that are made after
  /// this end before that, so their threads may still use it.
  static void prepare();

  /// The files of these options that were taken last, or null.
  [[nodiscard]] std::shared_ptr<const Files> files(const TlsOptions& options) const;
  /// Takes files that were read for these options. The error names the option and what is wrong.
  Result<void> take(const TlsOptions& options, std::shared_ptr<const Files> files);
  /// Begins a connection to `host`, which fails if the options name files and these were not taken
  /// or made room for others. The certificates must be valid at `wall_time`, in seconds since 1970.
  /// `last` is of the same node with the same options.
  Result<std::unique_ptr<Channel>> connect(const TlsOptions& options, std::string_view host,
                                           std::int64_t wall_time, Resumption& last);

 private:
  struct Loaded;
  [[nodiscard]] std::shared_ptr<Loaded> find(const TlsOptions& options) const;

  std::vector<std::shared_ptr<Loaded>> loaded_;
};

}  // namespace quorumlock::tls
