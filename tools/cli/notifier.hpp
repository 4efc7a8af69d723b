#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <quorumlock/clock.hpp>

namespace quorumlock::cli {

/// Reports to the service manager that started this program, as sd_notify(3) does: datagrams to the
/// socket that NOTIFY_SOCKET names, a path or, after '@', an abstract name. Does nothing without
/// that variable. A socket that cannot be used is one warning, and no failure.
///
/// With WATCHDOG_USEC the service manager restarts a service that is silent for longer than that.
/// The loops that wait for a lock or a command call keep_alive(), so a loop that hangs is noticed.
///
/// Not thread-safe. Nothing waits for a service manager that is busy: of what it does not take only
/// READY=1 is said again, by keep_alive() and with the next message.
class Notifier {
 public:
  Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  ~Notifier();

  /// Says that the service has started. Further calls only replace the sentence.
  void ready(const std::string& sentence);
  /// Says what the service is doing.
  void status(const std::string& sentence);
  /// Says that the service is about to end.
  void stopping(const std::string& sentence);
  /// Sends WATCHDOG=1 if it is due, which is twice as often as the service manager demands, and
  /// READY=1 if it has not been taken. Returns the milliseconds until the next one is due, for
  /// poll(); -1 if none is.
  int keep_alive();

 private:
  /// Returns what is wrong with the address, or nothing.
  std::string open();
  /// Reads WATCHDOG_USEC, unless WATCHDOG_PID says that another process is meant.
  void read_watchdog();
  void report(const std::string& assignment, const std::string& sentence);
  void send(const std::string& assignments);
  /// Warns, the first time.
  void warn(const std::string& why);

  std::string address_;
  int fd_ = -1;
  bool warned_ = false;
  bool ready_is_owed_ = false;  ///< READY=1 is to be sent
  std::optional<std::chrono::nanoseconds> alive_every_;
  Clock::time_point alive_until_{};  ///< when the next WATCHDOG=1 is due
};

}  // namespace quorumlock::cli
