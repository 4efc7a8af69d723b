#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// Texts that come from outside and must not be printed as they are. The check is not the library's
// own way to read UTF-8, so that a mistake there is seen.
namespace quorumlock::test {

struct OutsideText {
  const char* name;
  std::string_view bytes;  ///< must not be in anything that is printed
  std::string_view shown;  ///< what printable() makes of it
};

using namespace std::string_view_literals;

inline constexpr std::array outside_texts = {
    OutsideText{"line feed", "\n", "\\u000a"},
    OutsideText{"carriage return", "\r", "\\u000d"},
    OutsideText{"tab", "\t", "\\u0009"},
    OutsideText{"bell", "\a", "\\u0007"},
    OutsideText{"escape", "\x1b[2J", "\\u001b[2J"},
    OutsideText{"U+0001", "\x01", "\\u0001"},
    OutsideText{"U+001F", "\x1f", "\\u001f"},
    OutsideText{"DEL", "\x7f", "\\u007f"},
    OutsideText{"U+0080", "\xc2\x80", "\\u0080"},
    OutsideText{"NEL", "\xc2\x85", "\\u0085"},
    OutsideText{"CSI", "\xc2\x9b", "\\u009b"},
    OutsideText{"U+009F", "\xc2\x9f", "\\u009f"},
    OutsideText{"Arabic letter mark", "\xd8\x9c", "\\u061c"},
    OutsideText{"left-to-right mark", "\xe2\x80\x8e", "\\u200e"},
    OutsideText{"right-to-left mark", "\xe2\x80\x8f", "\\u200f"},
    OutsideText{"line separator", "\xe2\x80\xa8", "\\u2028"},
    OutsideText{"paragraph separator", "\xe2\x80\xa9", "\\u2029"},
    OutsideText{"U+202A", "\xe2\x80\xaa", "\\u202a"},
    OutsideText{"U+202B", "\xe2\x80\xab", "\\u202b"},
    OutsideText{"U+202C", "\xe2\x80\xac", "\\u202c"},
    OutsideText{"U+202D", "\xe2\x80\xad", "\\u202d"},
    OutsideText{"U+202E", "\xe2\x80\xae", "\\u202e"},
    OutsideText{"U+2066", "\xe2\x81\xa6", "\\u2066"},
    OutsideText{"U+2067", "\xe2\x81\xa7", "\\u2067"},
    OutsideText{"U+2068", "\xe2\x81\xa8", "\\u2068"},
    OutsideText{"U+2069", "\xe2\x81\xa9", "\\u2069"},
    OutsideText{"CSI as a byte", "\x9b", "\\x9b"},
    OutsideText{"Latin-1", "\xfc", "\\xfc"},
    OutsideText{"a byte that is never in UTF-8", "\xff", "\\xff"},
    OutsideText{"overlong slash", "\xc0\xaf", "\\xc0\\xaf"},
    OutsideText{"overlong escape", "\xe0\x80\x9b", "\\xe0\\x80\\x9b"},
    OutsideText{"overlong in four bytes", "\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
    OutsideText{"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
    OutsideText{"last surrogate", "\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
    OutsideText{"above U+10FFFF", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    OutsideText{"far above U+10FFFF", "\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
    OutsideText{"two bytes cut", "\xc3", "\\xc3"},
    OutsideText{"three bytes cut", "\xe2\x82", "\\xe2\\x82"},
    OutsideText{"four bytes cut", "\xf0\x9f\x92", "\\xf0\\x9f\\x92"},
};

/// All of them with letters between, as one name.
inline std::string all_outside_texts() {
  std::string all = "x";
  for (const OutsideText& one : outside_texts) all.append(one.bytes).append("y");
  return all;
}

/// The size of the UTF-8 character at the front of the text; 0 if there is none.
inline std::size_t utf8_size(std::string_view text) {
  // The well-formed byte sequences, as the Unicode Standard lists them: the first byte, the second,
  // and how many bytes of 80..BF follow these.
  struct Form {
    int first_from, first_to, second_from, second_to;
    std::size_t more;
  };
  static constexpr Form forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 0}, {0xe0, 0xe0, 0xa0, 0xbf, 1},
                                   {0xe1, 0xec, 0x80, 0xbf, 1}, {0xed, 0xed, 0x80, 0x9f, 1},
                                   {0xee, 0xef, 0x80, 0xbf, 1}, {0xf0, 0xf0, 0x90, 0xbf, 2},
                                   {0xf1, 0xf3, 0x80, 0xbf, 2}, {0xf4, 0xf4, 0x80, 0x8f, 2}};
  const auto is_in = [text](std::size_t at, int from, int to) {
    return at < text.size() && static_cast<std::uint8_t>(text[at]) >= from &&
           static_cast<std::uint8_t>(text[at]) <= to;
  };
  if (is_in(0, 0, 0x7f)) return 1;
  for (const Form& form : forms) {
    if (!is_in(0, form.first_from, form.first_to)) continue;
    if (!is_in(1, form.second_from, form.second_to)) continue;
    bool whole = true;
    for (std::size_t i = 0; i < form.more; ++i) whole = whole && is_in(2 + i, 0x80, 0xbf);
    if (whole) return form.more + 2;
  }
  return 0;
}

/// Returns the place of the first byte that must not be printed: one that is not UTF-8, or of a
/// character that could steer a terminal. Ends of lines may be `allowed`. npos: there is none.
inline std::size_t unprintable_at(std::string_view text, std::string_view allowed = {}) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const std::size_t size = utf8_size(rest);
    if (size == 0) return at;
    const std::string_view one = rest.substr(0, size);
    const bool c0 = size == 1 && (one[0] < ' ' || one[0] == '\x7f');
    const bool c1 = size == 2 && one >= "\xc2\x80"sv && one <= "\xc2\x9f"sv;
    const bool mark = one == "\xd8\x9c"sv || one == "\xe2\x80\x8e"sv || one == "\xe2\x80\x8f"sv;
    const bool turn = size == 3 && one >= "\xe2\x80\xa8"sv && one <= "\xe2\x80\xae"sv;
    const bool isolate = size == 3 && one >= "\xe2\x81\xa6"sv && one <= "\xe2\x81\xa9"sv;
    if ((c0 || c1 || mark || turn || isolate) && allowed.find(one) == allowed.npos) return at;
    at += size;
  }
  return text.npos;
}

}  // namespace quorumlock::test
