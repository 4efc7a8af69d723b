// A worker whose locks are instruments of OpenTelemetry's API.
//
//     export_to_opentelemetry order-1 order-2
//
// A program makes an SDK of its choice the provider; without one, the API drops what it is given.
// Counters and gauges become instruments that the SDK asks for at each collection. The API has none
// for a histogram that the library counts itself, so only the number and the sum of the waits are
// exported.
#include <opentelemetry/metrics/provider.h>

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <quorumlock/metrics.hpp>
#include <quorumlock/quorumlock.hpp>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace metrics = opentelemetry::metrics;
namespace nostd = opentelemetry::nostd;

/// The instruments of one coordinator, which has to outlive them.
class LockInstruments {
 public:
  LockInstruments(const quorumlock::Coordinator& coordinator, metrics::Meter& meter)
      : coordinator_(coordinator) {
    using Kind = quorumlock::MetricFamily::Kind;
    for (const quorumlock::MetricFamily& family : families()) {
      if (family.kind == Kind::histogram) {
        add(meter.CreateDoubleObservableCounter(family.name + "_count", family.help), family.name,
            Part::count);
        add(meter.CreateDoubleObservableCounter(family.name + "_sum", family.help), family.name,
            Part::sum);
      } else if (family.kind == Kind::counter) {
        add(meter.CreateDoubleObservableCounter(family.name, family.help), family.name,
            Part::value);
      } else {
        add(meter.CreateDoubleObservableGauge(family.name, family.help), family.name, Part::value);
      }
    }
  }
  LockInstruments(const LockInstruments&) = delete;
  LockInstruments& operator=(const LockInstruments&) = delete;
  ~LockInstruments() {
    for (const auto& one : instruments_) one->instrument->RemoveCallback(observe, one.get());
  }

 private:
  enum class Part { value, count, sum };
  struct Instrument {
    const LockInstruments& all;
    nostd::shared_ptr<metrics::ObservableInstrument> instrument;
    std::string family;
    Part part;
  };

  /// Returns the coordinator's own counts, and asks no node.
  [[nodiscard]] std::vector<quorumlock::MetricFamily> families() const {
    return quorumlock::metric_families(coordinator_.stats()).value();
  }
  void add(nostd::shared_ptr<metrics::ObservableInstrument> instrument, const std::string& family,
           Part part) {
    instruments_.push_back(
        std::make_unique<Instrument>(Instrument{*this, std::move(instrument), family, part}));
    instruments_.back()->instrument->AddCallback(observe, instruments_.back().get());
  }
  static double value_of(const quorumlock::MetricSample& sample, Part part) {
    if (part == Part::value || !sample.histogram) return sample.value;
    if (part == Part::count) return static_cast<double>(sample.histogram->count);
    return std::chrono::duration<double>(sample.histogram->total).count();
  }
  /// Runs on the SDK's thread, at each collection.
  static void observe(metrics::ObserverResult result, void* instrument) {
    const auto& its = *static_cast<const Instrument*>(instrument);
    auto& to = *nostd::get<nostd::shared_ptr<metrics::ObserverResultT<double>>>(result);
    for (const quorumlock::MetricFamily& family : its.all.families()) {
      if (family.name != its.family) continue;
      for (const quorumlock::MetricSample& sample : family.samples) {
        const std::map<std::string, std::string> labels(sample.labels.begin(), sample.labels.end());
        to.Observe(value_of(sample, its.part), labels);
      }
    }
  }

  const quorumlock::Coordinator& coordinator_;
  std::vector<std::unique_ptr<Instrument>> instruments_;
};

int main(int argc, char** argv) {
  auto options = quorumlock::Options::from_env();
  if (!options) {
    std::cerr << options.error().what() << '\n';
    return 64;
  }
  auto coordinator = quorumlock::Coordinator::create(std::move(*options));
  if (!coordinator) {
    std::cerr << coordinator.error().what() << '\n';
    return 64;
  }
  const auto meter = metrics::Provider::GetMeterProvider()->GetMeter("quorumlock");
  const LockInstruments instruments(*coordinator, *meter);

  for (int order = 1; order < argc; ++order) {
    const auto done = coordinator->with_lock(argv[order], {.wait = 10s}, [](quorumlock::Lease&) {
      // The work goes here.
    });
    std::cout << argv[order] << ": " << (done ? "done" : done.error().what()) << std::endl;
  }
  return 0;
}
