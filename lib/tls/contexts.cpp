#include "tls/contexts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <sys/stat.h>

#include "tls/client_channel.hpp"
#include "tls/context.hpp"

namespace quorumlock::tls {
namespace {

/// Options that are kept loaded; the nodes of a configuration rarely have more than two.
constexpr std::size_t most_loaded = 64;

}  // namespace

/// Options, with the certificates and keys of their files as they were last read.
struct Contexts::Loaded {
  /// The system's facts about a file or directory. They change when it is written or replaced.
  struct Stamp {
    dev_t device = 0;
    ino_t number = 0;
    off_t size = 0;
    std::int64_t modified_ns = 0, changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 4>;

  static Stamp stamp_of(const std::optional<std::string>& path) {
    struct stat is {};
    if (!path || ::stat(path->c_str(), &is) != 0) return {};
    const auto ns = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
    return {is.st_dev, is.st_ino, is.st_size, ns(is.st_mtim), ns(is.st_ctim)};
  }
  static Stamps stamps_of(const TlsOptions& options) {
    return {stamp_of(options.ca_file), stamp_of(options.ca_dir), stamp_of(options.cert_file),
            stamp_of(options.key_file)};
  }

  TlsOptions options;
  Stamps stamps;
  std::shared_ptr<const Context> context;
};

Contexts::Contexts() = default;
Contexts::~Contexts() = default;

Result<Contexts::Loaded*> Contexts::load(const TlsOptions& options) {
  // The stamps are taken before the files are read: if a file is replaced meanwhile, the next look
  // sees that.
  const Loaded::Stamps stamps = Loaded::stamps_of(options);
  const auto found =
      std::ranges::find_if(loaded_, [&](const auto& one) { return one->options == options; });
  if (found != loaded_.end() && (*found)->stamps == stamps) return found->get();
  Result<std::shared_ptr<const Context>> context = Context::load(options);
  if (!context) return context.error();
  if (found != loaded_.end()) {
    **found = {options, stamps, *std::move(context)};
    return found->get();
  }
  if (loaded_.size() == most_loaded) loaded_.erase(loaded_.begin());
  loaded_.push_back(std::make_shared<Loaded>(Loaded{options, stamps, *std::move(context)}));
  return loaded_.back().get();
}

Result<void> Contexts::check(const TlsOptions& options) {
  const Result<Loaded*> loaded = load(options);
  return loaded ? Result<void>() : Result<void>(loaded.error());
}

Result<std::unique_ptr<Channel>> Contexts::connect(const TlsOptions& options, std::string_view host,
                                                   std::int64_t wall_time, Resumption& last) {
  const Result<Loaded*> loaded = load(options);
  if (!loaded) return loaded.error();
  return std::unique_ptr<Channel>(
      std::make_unique<ClientChannel>((*loaded)->context, options, host, wall_time, last));
}

}  // namespace quorumlock::tls
