#include "support/proxy.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace std::chrono_literals;

namespace quorumlock::test {
namespace {

/// Listens on a free port, and keeps that port.
Descriptor listen_on_loopback(int& port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(socket.get(), 64) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    local::fail_with_errno("cannot listen on 127.0.0.1");
  }
  port = ntohs(address.sin_port);
  return socket;
}

/// Connects to a port of 127.0.0.1; returns a closed descriptor if nobody listens. The kernel
/// answers at once, whatever the server does.
Descriptor connect_to_port(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::ioctl(socket.get(), FIONBIO, &on) != 0) {
    socket.close();
  }
  return socket;
}

/// Connects to the socket; returns a closed descriptor if nobody listens.
Descriptor connect_to(const std::filesystem::path& path) {
  if (path.is_relative()) return connect_to_port(std::stoi(path.string()));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    socket.close();
  }
  return socket;
}

/// Makes the client see an RST, and not an orderly end.
void reset_on_close(const Descriptor& client) {
  const linger none{1, 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

constexpr Weather nothing_arrives{.to_node = {.lost = true}, .from_node = {.lost = true}};

short readable(const Pipe& pipe) {
  return pipe.ended() || pipe.full() ? 0 : POLLIN;
}
short writable(const Pipe& pipe) {
  return pipe.blocked() ? POLLOUT : 0;
}

}  // namespace

Proxy::Proxy(std::vector<std::filesystem::path> nodes, std::uint64_t seed)
    : random_(seed), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (std::filesystem::path& path : nodes) {
    Place place;
    place.path = std::move(path);
    place.listener = listen_on_loopback(place.port);
    places_.push_back(std::move(place));
  }
  thread_ = std::thread([this] { run(); });
}

Proxy::~Proxy() {
  over_ = true;
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
}

std::string Proxy::url(std::size_t node) const {
  return "redis://127.0.0.1:" + std::to_string(places_.at(node).port);
}

std::vector<std::string> Proxy::urls() const {
  std::vector<std::string> urls;
  for (std::size_t node = 0; node < places_.size(); ++node) urls.push_back(url(node));
  return urls;
}

void Proxy::set(std::size_t node, const Weather& weather) {
  const std::lock_guard lock(mutex_);
  places_.at(node).weather = weather;
  (void)::eventfd_write(wake_.get(), 1);
}

void Proxy::reset(std::size_t node) {
  const std::lock_guard lock(mutex_);
  places_.at(node).reset = true;
  (void)::eventfd_write(wake_.get(), 1);
}

void Proxy::lead_to(std::size_t node, std::filesystem::path path) {
  const std::lock_guard lock(mutex_);
  places_.at(node).path = std::move(path);
  places_.at(node).reset = true;
  (void)::eventfd_write(wake_.get(), 1);
}

void Proxy::forget(std::size_t node) {
  const std::lock_guard lock(mutex_);
  for (Connection& each : places_.at(node).connections) each.forgotten = true;
}

std::size_t Proxy::connections(std::size_t node) const {
  const std::lock_guard lock(mutex_);
  return places_.at(node).connections.size();
}

void Proxy::run() {
  std::vector<pollfd> watched;
  while (!over_) {
    std::chrono::nanoseconds limit{0};
    {
      const std::lock_guard lock(mutex_);
      const SteadyTime now = std::chrono::steady_clock::now();
      turn(now);
      watch(watched);
      limit = patience(now);
    }
    const timespec most{limit / 1s, limit % 1s / 1ns};
    ::ppoll(watched.data(), watched.size(), &most, nullptr);
    eventfd_t ignored = 0;
    (void)::eventfd_read(wake_.get(), &ignored);
    const std::lock_guard lock(mutex_);
    note(watched);
  }
}

void Proxy::watch(std::vector<pollfd>& watched) const {
  watched.assign(1, {wake_.get(), POLLIN, 0});
  for (const Place& place : places_) {
    watched.push_back({place.listener.get(), POLLIN, 0});
    for (const Connection& each : place.connections) {
      const short client = static_cast<short>(readable(each.to_node) | writable(each.from_node));
      const short node = static_cast<short>(readable(each.from_node) | writable(each.to_node));
      // A descriptor that is polled for nothing would still report its end again and again.
      watched.push_back({client != 0 ? each.client.get() : -1, client, 0});
      watched.push_back({node != 0 ? each.node.get() : -1, node, 0});
    }
  }
}

/// Takes the results in the order of watch(): no connection comes or goes while poll waits.
void Proxy::note(const std::vector<pollfd>& watched) {
  auto seen = watched.begin() + 1;
  for (Place& place : places_) {
    ++seen;
    for (Connection& each : place.connections) {
      each.client_speaks = ((seen++)->revents & ~POLLOUT) != 0;
      each.node_speaks = ((seen++)->revents & ~POLLOUT) != 0;
    }
  }
}

std::chrono::nanoseconds Proxy::patience(SteadyTime now) const {
  SteadyTime next = SteadyTime::max();
  for (const Place& place : places_) {
    for (const Connection& each : place.connections) {
      next = std::min({next, each.to_node.due(place.weather.to_node),
                       each.from_node.due(place.weather.from_node)});
    }
  }
  if (next == SteadyTime::max()) return 1s;  // whatever changes meanwhile wakes the thread
  return std::clamp<std::chrono::nanoseconds>(next - now, 0ns, 1s);
}

void Proxy::turn(SteadyTime now) {
  for (Place& place : places_) {
    const bool all = std::exchange(place.reset, false) || place.weather.refused;
    place.connections.remove_if([&](Connection& each) {
      const Weather& weather = each.forgotten ? nothing_arrives : place.weather;
      if (!all && serve(each, weather, now)) return false;
      reset_on_close(each.client);
      return true;
    });
    accept(place);
  }
}

void Proxy::accept(Place& place) {
  for (;;) {
    Descriptor client(
        ::accept4(place.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.open()) return;
    const int on = 1;
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Descriptor node = place.weather.refused ? Descriptor() : connect_to(place.path);
    if (node.open()) {
      place.connections.push_back({std::move(client), std::move(node), {}, {}});
    } else {
      reset_on_close(client);
    }
  }
}

bool Proxy::serve(Connection& connection, const Weather& weather, SteadyTime now) {
  Pipe& to = connection.to_node;
  Pipe& from = connection.from_node;
  if (connection.client_speaks && !to.ended() && !to.full()) {
    to.read_from(connection.client, weather.to_node, now, random_);
  }
  if (connection.node_speaks && !from.ended() && !from.full()) {
    from.read_from(connection.node, weather.from_node, now, random_);
  }
  const bool lost =
      (to.lossy() && !weather.to_node.lost) || (from.lossy() && !weather.from_node.lost);
  if (lost || !to.write_to(connection.node, weather.to_node, now) ||
      !from.write_to(connection.client, weather.from_node, now)) {
    return false;
  }
  // The end of a stream travels after its bytes: if they are held up or lost, it is too.
  const auto arrived = [](const Pipe& pipe, const Course& course) {
    return pipe.ended() && pipe.empty() && !course.held && !course.lost;
  };
  return !arrived(to, weather.to_node) && !arrived(from, weather.from_node);
}

}  // namespace quorumlock::test
