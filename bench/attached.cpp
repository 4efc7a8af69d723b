#include "attached.hpp"

#include <quorumlock/quorumlock.hpp>

#include <stdexcept>
#include <utility>

namespace quorumlock::bench {
namespace {

class Attached final : public Contender {
 public:
  Attached(const Nodes& nodes, bool fencing)
      : fencing_(fencing), coordinator_(attach(loop_.get(), nodes, fencing)) {}

  ~Attached() override {
    leases_.clear();
    coordinator_.close();
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }

  [[nodiscard]] std::string_view name() const override {
    return fencing_ ? "quorumlock_fenced" : "quorumlock";
  }
  uv_loop_t* loop() override { return loop_.get(); }

  void prepare(int slots) override {
    for (int i = static_cast<int>(leases_.size()); i < slots; ++i) {
      resources_.push_back(resource(i));
      leases_.emplace_back();
    }
  }

  void acquire(int slot) override {
    coordinator_.async_acquire(resources_[static_cast<std::size_t>(slot)], {}, {},
                               [this, slot](Result<Lease> lease) {
                                 const bool granted = lease.has_value();
                                 if (granted) lease_of(slot) = std::move(*lease);
                                 client_->acquired(slot, granted);
                               });
  }

  void release(int slot) override {
    lease_of(slot).async_release([this, slot](const Result<void>& result) {
      lease_of(slot) = Lease();
      client_->released(slot, result.has_value());
    });
  }

 private:
  static Coordinator attach(uv_loop_t* loop, const Nodes& nodes, bool fencing) {
    Options options;
    options.nodes = nodes.urls();
    options.fencing = fencing;
    Result<Coordinator> coordinator = Coordinator::attach(loop, std::move(options));
    if (!coordinator) throw std::runtime_error(coordinator.error().what());
    return std::move(*coordinator);
  }
  Lease& lease_of(int slot) { return leases_[static_cast<std::size_t>(slot)]; }

  bool fencing_;
  Loop loop_;
  Coordinator coordinator_;
  std::vector<std::string> resources_;
  std::vector<Lease> leases_;
};

}  // namespace

std::unique_ptr<Contender> make_attached(const Nodes& nodes, bool fencing) {
  return std::make_unique<Attached>(nodes, fencing);
}

}  // namespace quorumlock::bench
