#include "tls/contexts.hpp"

// The library without OpenSSL (QUORUMLOCK_TLS=OFF): no connection has TLS. Endpoint::parse()
// refuses rediss:// before this is asked for.
namespace quorumlock::tls {

Contexts::Contexts() = default;
Contexts::~Contexts() = default;

void Contexts::prepare() {}

std::shared_ptr<const Files> Contexts::files(const TlsOptions& /*options*/) const {
  return nullptr;
}

Result<void> Contexts::take(const TlsOptions& /*options*/, std::shared_ptr<const Files> /*files*/) {
  return Error(Errc::invalid_argument, "this quorumlock is built without TLS");
}

Result<std::unique_ptr<Channel>> Contexts::connect(const TlsOptions& options,
                                                   std::string_view /*host*/,
                                                   std::int64_t /*wall_time*/,
                                                   Resumption& /*last*/) {
  return take(options, nullptr).error();
}

}  // namespace quorumlock::tls
