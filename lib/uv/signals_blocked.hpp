#pragma once

#include <pthread.h>
#include <signal.h>

namespace quorumlock::uv {

/// Blocks all signals while a thread of ours starts, so that it starts with all of them blocked:
/// signals are for the host's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace quorumlock::uv
