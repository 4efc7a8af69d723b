#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quorumlock/clock.hpp>

#include "uv/address.hpp"
#include "uv/lookup.hpp"

namespace quorumlock::uv {

/// A host's name, and what is known of its addresses: the answer of the last lookup, and the
/// address that worked last, at which connections are tried while a lookup goes on.
///
/// At most one lookup is under way. It outlives the attempt that has begun it, so that a resolver
/// that answers late, or never, costs one lookup and delays nothing else.
class Name final : public std::enable_shared_from_this<Name>, Lookup::Listener {
 public:
  /// Receives the addresses, as an attempt to connect does.
  class Seeker {
   public:
    virtual ~Seeker() = default;
    /// These may be tried already. More may follow.
    virtual void on_addresses(std::span<const Address> some) = 0;
    /// These are all, the best one first. This is the last call.
    virtual void on_answer(const Resolved& answer) = 0;
  };
  using MakeLookup = std::function<std::unique_ptr<Lookup>()>;

  Name(std::string host, MakeLookup make) : host_(std::move(host)), make_(std::move(make)) {}

  /// Calls the seeker back, perhaps inside the call, until on_answer() or leave().
  void seek(Clock::time_point now, Seeker& seeker);
  void leave(Seeker& seeker);
  /// A server has answered at this address.
  void worked(const Address& address) { worked_ = address; }
  /// Ends the lookup. None follows.
  void close();

 private:
  void on_part(const std::vector<Address>& so_far) override;
  void on_answer(const Resolved& answer) override;
  template <class Call>
  void tell(Call&& call);

  std::string host_;
  MakeLookup make_;
  std::unique_ptr<Lookup> lookup_;
  std::vector<Address> part_;  ///< what the lookup has found so far
  std::vector<Seeker*> seekers_;
  std::optional<Address> worked_;
  Resolved answer_;  ///< the last one
  Clock::time_point answered_{};
  bool unclaimed_ = false;  ///< nobody waited for it
};

/// The names that the sockets of one loop connect to.
class Names {
 public:
  explicit Names(Name::MakeLookup make) : make_(std::move(make)) {}

  /// The name is known for as long as somebody keeps it.
  std::shared_ptr<Name> at(const std::string& host);
  /// Ends all lookups. None follows.
  void close();

 private:
  Name::MakeLookup make_;
  std::map<std::string, std::weak_ptr<Name>> names_;
};

}  // namespace quorumlock::uv
