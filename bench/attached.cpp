#include <quorumlock/quorumlock.hpp>

#include "attached.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace quorumlock::bench {
namespace {

class Attached final : public Contender {
 public:
  Attached(const Nodes& nodes, Kind kind, std::string_view name)
      : kind_(kind),
        name_(name),
        coordinator_(attach(loop_.get(), nodes)),
        semaphore_(coordinator_, "bench/permits", 64) {}

  ~Attached() override {
    leases_.clear();
    coordinator_.close();
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  uv_loop_t* loop() override { return loop_.get(); }

  [[nodiscard]] std::string key_pattern(int slot) const override {
    return kind_ == Kind::permit ? "quorumlock:permit:*" : resource(slot);
  }

  void prepare(int slots) override {
    for (int i = static_cast<int>(leases_.size()); i < slots; ++i) {
      resources_.push_back(resource(i));
      leases_.emplace_back();
    }
  }

  void acquire(int slot) override {
    const std::string& resource = resources_[static_cast<std::size_t>(slot)];
    if (kind_ == Kind::watched) read_metrics();
    auto handler = [this, slot](Result<Lease> lease) {
      const bool granted = lease.has_value();
      if (!granted) std::fprintf(stderr, "%s: %s\n", name_.c_str(), lease.error().what());
      if (granted) lease_of(slot) = std::move(*lease);
      client_->acquired(slot, granted);
    };
    switch (kind_) {
      case Kind::plain:
      case Kind::watched:
      case Kind::fenced: return coordinator_.async_acquire(resource, {}, {}, handler);
      case Kind::ordered:
        return coordinator_.async_acquire(resource, {.wait = forever}, {}, handler);
      case Kind::shared:
        return coordinator_.async_acquire(resource, {.mode = LockMode::shared}, {}, handler);
      case Kind::pair:
        return coordinator_.async_acquire_all({resource, resource + "/too"}, {}, {}, handler);
      case Kind::permit: return semaphore_.async_acquire({}, handler);
    }
  }

  void release(int slot) override {
    lease_of(slot).async_release([this, slot](const Result<void>& result) {
      lease_of(slot) = Lease();
      client_->released(slot, result.has_value());
    });
  }

 private:
  /// Reads the metrics once a second, more often than a monitoring system does.
  void read_metrics() {
    const auto now = Clock::now();
    if (now < next_reading_) return;
    next_reading_ = now + std::chrono::seconds(1);
    bytes_read_ += metrics_text(coordinator_.stats()).value().size();
  }
  Coordinator attach(uv_loop_t* loop, const Nodes& nodes) {
    Options options = nodes.options();
    options.fencing = kind_ != Kind::plain && kind_ != Kind::watched;
    if (kind_ == Kind::watched) {
      options.on_event = [this](const Event& event) { events_seen_ += 1 + event.left_out; };
      for (int i = 0; i < 8; ++i) {
        options.resource_classes.push_back("class" + std::to_string(i) + ":");
      }
    }
    Result<Coordinator> coordinator = Coordinator::attach(loop, std::move(options));
    if (!coordinator) throw std::runtime_error(coordinator.error().what());
    return std::move(*coordinator);
  }
  Lease& lease_of(int slot) { return leases_[static_cast<std::size_t>(slot)]; }

  Kind kind_;
  std::string name_;
  Loop loop_;
  Clock::time_point next_reading_{};
  std::size_t bytes_read_ = 0;
  std::uint64_t events_seen_ = 0;
  Coordinator coordinator_;
  Semaphore semaphore_;
  std::vector<std::string> resources_;
  std::vector<Lease> leases_;
};

}  // namespace

std::unique_ptr<Contender> make_attached(const Nodes& nodes, Kind kind, std::string_view name) {
  return std::make_unique<Attached>(nodes, kind, name);
}

}  // namespace quorumlock::bench
