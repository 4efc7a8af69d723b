#pragma once

#include <string>

namespace quorumlock::cli {

/// Reports to the service manager that started this program, as sd_notify(3) does: datagrams to the
/// socket that NOTIFY_SOCKET names, a path or, after '@', an abstract name. Does nothing without
/// that variable. A socket that cannot be used is one warning, and no failure.
///
/// Not thread-safe. A message waits for at most a second if the service manager is busy.
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

 private:
  /// Returns what is wrong with the address, or nothing.
  std::string open();
  void send(const std::string& assignment, const std::string& sentence);
  /// Warns, the first time.
  void warn(const std::string& why);

  std::string address_;
  int fd_ = -1;
  bool warned_ = false;
};

}  // namespace quorumlock::cli
