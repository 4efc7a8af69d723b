#pragma once

#include <string_view>
#include <vector>

namespace quorumlock::bench {

/// One way to say acquire and release to a server. Requests are words, one space between them, in
/// which these stand for what is theirs: $acquire and $release (the scripts' SHA1), $lock,
/// $counter, $enrolment (keys), $token, $record (what stands under $enrolment), $wall (the client's
/// clock, us).
struct Form {
  std::string_view name;
  std::string_view acquire;
  std::string_view acquire_script;  ///< Lua, loaded before
  std::string_view release;
  std::string_view release_script;
  /// A function library instead, with one function `acquire`.
  std::string_view library;
  /// Empty where it does what acquire.lua and release.lua do, with the same replies; else what is
  /// different.
  std::string_view differs;
};

/// The first is plain: SET NX PX and release.lua. The second is the library's own fenced form.
const std::vector<Form>& script_forms();

}  // namespace quorumlock::bench
