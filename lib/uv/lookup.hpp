#pragma once

#include <memory>
#include <string>
#include <vector>

#include "uv/address.hpp"
#include "uv/handle.hpp"

namespace quorumlock::uv {

/// What a resolver knows about a name.
struct Resolved {
  /// Whether it says that the name has no such address. It cannot if the question for that family
  /// had no answer.
  [[nodiscard]] bool lacks(const Address& address) const;

  std::vector<Address> addresses;
  bool knows_v4 = false, knows_v6 = false;  ///< whether all addresses of this family are here
  std::string why = {};                     ///< why there are none, or not all
};

/// One name that is being resolved. Destroying it ends that.
class Lookup {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    /// The addresses so far; more follow, or at least the answer.
    virtual void on_part(const std::vector<Address>& so_far) = 0;
    /// Called once, and perhaps inside begin(). It may destroy the lookup.
    virtual void on_answer(const Resolved& answer) = 0;
  };

  virtual ~Lookup() = default;
  virtual void begin(const std::string& host, Listener& listener) = 0;
};

/// Resolves a name on the loop with c-ares: by the hosts file, or else by the name servers and the
/// search domains of resolv.conf, which are read anew for each lookup. The questions for both
/// families are independent: a server that does not answer one of them delays no connection.
std::unique_ptr<Lookup> lookup_on(uv_loop_t* loop, Open& open);

}  // namespace quorumlock::uv
