#include "chaos/store.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <list>
#include <sstream>
#include <stdexcept>

namespace quorumlock::chaos {
namespace {

/// A sequenced-packet socket: messages stay whole.
Descriptor make_socket(int more = 0) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | more, 0));
  if (!socket.open()) fail_with_errno("cannot make a socket");
  return socket;
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

void Fence::decide(Write& write) {
  Greatest& greatest = resources_[write.resource];
  write.greatest = greatest.token;
  write.accepted = !checks_ || write.token > greatest.token ||
                   (write.token == greatest.token && write.owner == greatest.owner);
  if (write.token > greatest.token) greatest = {write.token, write.owner};
}

Store::Store(const std::filesystem::path& socket, bool checks)
    : fence_(checks),
      listener_(make_socket(SOCK_NONBLOCK)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const sockaddr_un address = address_of(socket);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 64) != 0) {
    fail_with_errno("cannot listen for the store's clients");
  }
  thread_ = std::thread([this] { run(); });
}

Store::~Store() {
  over_ = true;
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
}

std::vector<Write> Store::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

void Store::run() {
  std::list<Descriptor> clients;
  std::vector<pollfd> watched;
  while (!over_) {
    watched.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const Descriptor& client : clients) watched.push_back({client.get(), POLLIN, 0});
    ::poll(watched.data(), watched.size(), -1);
    auto seen = watched.begin() + 2;
    clients.remove_if(
        [&](const Descriptor& client) { return (seen++)->revents != 0 && !answer(client); });
    Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.open()) clients.push_back(std::move(client));
  }
}

bool Store::answer(const Descriptor& client) {
  char buffer[1024];
  const ssize_t size = ::recv(client.get(), buffer, sizeof buffer, 0);
  if (size <= 0) return size < 0 && errno == EAGAIN;
  std::istringstream words(std::string(buffer, static_cast<std::size_t>(size)));
  Write write;
  words >> write.resource >> write.owner >> write.worker >> write.token;
  if (!words) return false;
  write.at = Clock::now();
  fence_.decide(write);
  const char verdict = write.accepted ? 'y' : 'n';
  {
    const std::lock_guard lock(mutex_);
    writes_.push_back(std::move(write));
  }
  return ::send(client.get(), &verdict, 1, MSG_NOSIGNAL) == 1;
}

StoreClient::StoreClient(const std::filesystem::path& socket) : socket_(make_socket()) {
  const sockaddr_un address = address_of(socket);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail_with_errno("cannot reach the store");
  }
}

bool StoreClient::write(const std::string& resource, const std::string& owner, int worker,
                        std::uint64_t token) {
  const std::string text =
      resource + " " + owner + " " + std::to_string(worker) + " " + std::to_string(token);
  char verdict = 0;
  if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0 ||
      ::recv(socket_.get(), &verdict, 1, 0) != 1) {
    throw std::runtime_error("the store is gone");
  }
  return verdict == 'y';
}

}  // namespace quorumlock::chaos
