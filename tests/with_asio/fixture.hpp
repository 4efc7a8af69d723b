#pragma once

// The same tests run with both kinds of Asio.
#ifdef ASIO_STANDALONE
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/system_error.hpp>
#include <asio/system_executor.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#else
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#endif

#include <quorumlock/asio.hpp>

#include "integration/fixture.hpp"

namespace quorumlock::test {

#ifdef ASIO_STANDALONE
namespace net = ::asio;
using AsioCode = ::asio::error_code;
using AsioError = ::asio::system_error;
#else
namespace net = ::boost::asio;
using AsioCode = ::boost::system::error_code;
using AsioError = ::boost::system::system_error;
#endif

/// Tests of <quorumlock/asio.hpp>: five nodes, and a context that the test runs itself.
class WithAsio : public FiveNodes {
 protected:
  /// The number of requests that wait in the line of a resource, on the node with the most.
  static long long waiting(const std::string& resource) {
    long long most = 0;
    for (int node = 0; node < 5; ++node) {
      most = std::max(most, cluster().raw(node, {"ZCARD", "quorumlock:queue:" + resource}).integer);
    }
    return most;
  }
  /// Runs the handlers of the context until the condition holds.
  template <class Condition>
  static bool runs_until(net::io_context& context, Condition&& condition) {
    return eventually([&] {
      context.restart();
      context.poll();
      return condition();
    });
  }
  /// Spawns a coroutine on the context and runs it to its end. Its exception is thrown.
  template <class Coroutine>
  static void run(net::io_context& context, Coroutine&& coroutine) {
    std::exception_ptr thrown;
    net::co_spawn(context, std::forward<Coroutine>(coroutine),
                  [&](std::exception_ptr error) { thrown = std::move(error); });
    context.restart();
    context.run();
    if (thrown) std::rethrow_exception(thrown);
  }
};

}  // namespace quorumlock::test
