#include <quorumlock/event.hpp>

#include <algorithm>
#include <cstdio>

namespace quorumlock {
namespace {

/// The character at the front of a text.
struct Character {
  char32_t code;
  std::size_t size;  ///< in bytes; 0: the text does not begin with UTF-8
};

/// Reads strictly: a longer form than is needed, a surrogate and a code above U+10FFFF are not
/// UTF-8, since other readers take them for other characters or for several.
Character first_of(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || size > text.size()) return {0, 0};
  char32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {0, 0};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr char32_t least[] = {0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[size - 2] || is_surrogate || code > 0x10ffff) return {0, 0};
  return {code, size};
}

bool steers(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool is_plain_ascii(char c) {
  return c >= ' ' && c <= '~';
}

std::string escape(const char* format, unsigned code) {
  char text[16];
  std::snprintf(text, sizeof text, format, code);
  return text;
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  if (text.size() <= longest && std::ranges::all_of(text, is_plain_ascii)) {
    return std::string(text);  // as nearly always
  }
  std::string shown;
  while (!text.empty()) {
    const auto [code, size] = first_of(text);
    std::string one(text.substr(0, std::max<std::size_t>(size, 1)));
    text.remove_prefix(one.size());
    if (size == 0) {
      one = escape("\\x%02x", static_cast<unsigned char>(one[0]));
    } else if (steers(code)) {
      one = escape("\\u%04x", code);
    }
    if (shown.size() + one.size() > longest) return shown + "...";
    shown += one;
  }
  return shown;
}

}  // namespace quorumlock
