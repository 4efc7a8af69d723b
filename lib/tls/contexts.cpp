#include "tls/contexts.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <openssl/ssl.h>

#include "tls/client_channel.hpp"
#include "tls/context.hpp"

namespace quorumlock::tls {
namespace {

/// Options that are kept loaded; the nodes of a configuration rarely have more than two.
constexpr std::size_t most_loaded = 64;

/// The options without what belongs to a connection, and not to the files.
TlsOptions of_any_server(TlsOptions options) {
  options.server_name.reset();
  return options;
}

}  // namespace

/// Options, with the certificates and keys of their files as they were last read.
struct Contexts::Loaded {
  TlsOptions options;
  std::shared_ptr<const Files> files;
  Result<std::shared_ptr<const Context>> context;
};

Contexts::Contexts() = default;
Contexts::~Contexts() = default;

std::shared_ptr<Contexts::Loaded> Contexts::find(const TlsOptions& options) const {
  const TlsOptions wanted = of_any_server(options);
  const auto found =
      std::ranges::find_if(loaded_, [&](const auto& one) { return one->options == wanted; });
  return found == loaded_.end() ? nullptr : *found;
}

void Contexts::prepare() {
  SSL_CTX* const any = SSL_CTX_new(TLS_client_method());
  if (any == nullptr) throw std::bad_alloc();
  SSL_CTX_free(any);
}

std::shared_ptr<const Files> Contexts::files(const TlsOptions& options) const {
  const auto found = find(options);
  return found == nullptr ? nullptr : found->files;
}

Result<void> Contexts::take(const TlsOptions& options, std::shared_ptr<const Files> files) {
  std::shared_ptr<Loaded> mine = find(options);
  if (mine == nullptr || !mine->context || !mine->files->are_as(*files)) {
    if (mine != nullptr) std::erase(loaded_, mine);
    if (loaded_.size() == most_loaded) loaded_.erase(loaded_.begin());
    Result<std::shared_ptr<const Context>> context = Context::load(options, *files);
    mine = std::make_shared<Loaded>(
        Loaded{of_any_server(options), std::move(files), std::move(context)});
    loaded_.push_back(mine);
  }
  return mine->context ? Result<void>() : Result<void>(mine->context.error());
}

Result<std::unique_ptr<Channel>> Contexts::connect(const TlsOptions& options, std::string_view host,
                                                   std::int64_t wall_time, Resumption& last) {
  std::shared_ptr<Loaded> mine = find(options);
  if (!Files::are_named_by(options)) {
    if (mine == nullptr || !mine->context) (void)take(options, Files::read(options));
    mine = find(options);
  } else if (mine == nullptr) {
    // The loop must not wait for a file system, so whoever connects has read the files before.
    return Error(Errc::no_quorum, "the files of its TLS options are not in memory: more than " +
                                      std::to_string(most_loaded) +
                                      " different options are in use, or memory is short");
  }
  if (!mine->context) return mine->context.error();
  return std::unique_ptr<Channel>(
      std::make_unique<ClientChannel>(*mine->context, options, host, wall_time, last));
}

}  // namespace quorumlock::tls
