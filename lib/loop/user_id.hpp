#pragma once

#include "lock/claim.hpp"

namespace quorumlock::detail {

/// The engine's handle for one of our objects, which it passes back with its outputs.
template <class Object>
core::UserId id_of(const Object& object) {
  return reinterpret_cast<core::UserId>(&object);
}

/// The object of such a handle.
template <class Object>
Object& object_of(core::UserId id) {
  return *reinterpret_cast<Object*>(id);
}

}  // namespace quorumlock::detail
