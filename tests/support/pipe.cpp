#include "support/pipe.hpp"

#include <sys/socket.h>

#include <algorithm>

namespace quorumlock::test {

using std::chrono::milliseconds;

bool Pipe::read_from(const Descriptor& source, const Course& course, SteadyTime now,
                     std::mt19937_64& random) {
  char buffer[16384];
  const ssize_t size = ::recv(source.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0) {
    ended_ = true;
    return false;
  }
  if (course.lost) {
    lossy_ = true;
    return true;
  }
  SteadyTime due = now + course.delay;
  if (course.jitter.count() > 0) {
    due += milliseconds(random() % static_cast<std::uint64_t>(course.jitter.count() + 1));
  }
  // The bytes of a stream leave in the order in which they came.
  if (!pieces_.empty()) due = std::max(due, pieces_.back().due);
  pieces_.push_back({due, std::string(buffer, static_cast<std::size_t>(size))});
  size_ += static_cast<std::size_t>(size);
  return true;
}

SteadyTime Pipe::due(const Course& course) const {
  if (pieces_.empty() || course.held || blocked_) return SteadyTime::max();
  const SteadyTime due = pieces_.front().due;
  return course.trickle > 0 ? std::max(due, last_trickle_ + milliseconds(1)) : due;
}

bool Pipe::write_to(const Descriptor& sink, const Course& course, SteadyTime now) {
  blocked_ = false;
  while (due(course) <= now) {
    std::string& bytes = pieces_.front().bytes;
    const std::size_t most = course.trickle > 0 ? course.trickle : bytes.size();
    const ssize_t size =
        ::send(sink.get(), bytes.data(), std::min(most, bytes.size()), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      blocked_ = true;
      return true;
    }
    if (size < 0) return false;
    if (course.trickle > 0) last_trickle_ = now;
    size_ -= static_cast<std::size_t>(size);
    bytes.erase(0, static_cast<std::size_t>(size));
    if (bytes.empty()) pieces_.pop_front();
  }
  return true;
}

}  // namespace quorumlock::test
