#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <quorumlock/export.hpp>

namespace quorumlock {

/// Returns the text so that it can stand in a line of a log, a table or a metric, whoever wrote it:
/// UTF-8 on one line, without a character that could steer a terminal or change the order of what
/// is read. These are the control characters (C0, DEL, C1), the ends of lines and paragraphs, and
/// the marks of writing directions; each becomes an escape such as `\u001b`, and each byte that is
/// not UTF-8 one such as `\x9b`. Other text stays as it is, and so does text that is printable
/// already. A result of more than `longest` bytes is cut, and "..." follows.
///
/// What the library itself puts into errors, events, logs and metrics has been through this
/// function. Names, labels and tokens that it returns as values have not, since they are compared
/// and sent again.
QUORUMLOCK_EXPORT std::string printable(std::string_view text,
                                        std::size_t longest = std::string_view::npos);

}  // namespace quorumlock
