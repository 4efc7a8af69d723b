#include <quorumlock/options.hpp>

// The name that programs refer to if their containers are those of the library.
namespace quorumlock::detail {

#ifdef _GLIBCXX_DEBUG
const bool library_is_built_with_GLIBCXX_DEBUG = true;
#else
const bool library_is_built_without_GLIBCXX_DEBUG = true;
#endif

}  // namespace quorumlock::detail
