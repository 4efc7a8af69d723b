#include "support/process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "support/eventually.hpp"

namespace quorumlock::test {

using local::Descriptor;

Process::Process(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment) {
  int in[2];  // a socket, since writing to a pipe without a reader raises SIGPIPE
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
    local::fail_with_errno("cannot make a pair of sockets");
  }
  in_ = Descriptor(in[0]);
  const Descriptor its_in(in[1]);
  Descriptor its_out;
  local::make_pipe(out_, its_out);
  std::vector<std::string> variables = environment;  // the first one of a name counts
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  start(command, std::move(variables), {its_in.get(), its_out.get(), STDERR_FILENO});
}

void Process::say(const std::string& line) {
  const std::string text = line + "\n";
  if (::send(in_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("cannot write to the process: " + line);
  }
}

std::string Process::line() {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != unread_.npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd ready{out_.get(), POLLIN, 0};
    const int limit = static_cast<int>(std::chrono::milliseconds(patience).count());
    if (::poll(&ready, 1, limit) <= 0) throw std::runtime_error("the process says nothing");
    char buffer[4096];
    const ssize_t size = ::read(out_.get(), buffer, sizeof buffer);
    if (size <= 0) throw std::runtime_error("the process has ended; it last said: " + unread_);
    unread_.append(buffer, static_cast<std::size_t>(size));
  }
}

}  // namespace quorumlock::test
