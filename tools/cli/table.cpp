#include "table.hpp"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <utility>

#include <quorumlock/event.hpp>

namespace quorumlock::cli {
namespace {

constexpr std::size_t between_columns = 2;
constexpr std::size_t shortest_name = 12;  ///< a name is not cut below this
constexpr std::size_t of_remark = 4;       ///< the indentation of a remark
constexpr std::string_view dots = "...";

/// While it lives, wcwidth() knows all characters, whatever locale the user has.
class WithAllCharacters {
 public:
  WithAllCharacters() {
    static const locale_t all = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    before_ = ::uselocale(all);  // null changes nothing: then every character counts as one column
  }
  WithAllCharacters(const WithAllCharacters&) = delete;
  WithAllCharacters& operator=(const WithAllCharacters&) = delete;
  ~WithAllCharacters() { ::uselocale(before_); }

 private:
  locale_t before_;
};

struct Character {
  std::size_t bytes;
  std::size_t width;
};

/// The first character of a text that is printable and not empty.
Character first_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, 1};
  std::size_t bytes = 1;
  wchar_t code = first & (first < 0xE0 ? 0x1F : first < 0xF0 ? 0x0F : 0x07);
  for (; bytes < text.size(); ++bytes) {
    const auto next = static_cast<unsigned char>(text[bytes]);
    if ((next & 0xC0) != 0x80) break;
    code = code << 6 | (next & 0x3F);
  }
  const int width = ::wcwidth(code);
  return {bytes, width < 0 ? 1 : static_cast<std::size_t>(width)};
}

/// The longest beginning that takes at most this many columns.
std::string_view beginning(std::string_view text, std::size_t width) {
  const WithAllCharacters all;
  std::size_t end = 0;
  while (end < text.size()) {
    const Character next = first_of(text.substr(end));
    if (next.width > width) break;
    width -= next.width;
    end += next.bytes;
  }
  return text.substr(0, end);
}

/// The longest end that takes at most this many columns, and does not begin with a mere accent.
std::string_view ending(std::string_view text, std::size_t width) {
  const WithAllCharacters all;
  for (std::size_t left = width_of(text); left > width || first_of(text).width == 0;) {
    const Character next = first_of(text);
    left -= next.width;
    text.remove_prefix(next.bytes);
    if (text.empty()) break;
  }
  return text;
}

/// The column in which a line goes on after a break.
std::size_t column_after_break(std::string_view line, std::size_t indentation) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = begin == 0 ? line.npos : line.find("  ", begin);
  const std::size_t text = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
  return text == line.npos ? begin + indentation : width_of(line.substr(0, text));
}

std::string wrapped_line(std::string_view line, std::size_t width, std::size_t indentation) {
  const std::size_t after_break = std::min(column_after_break(line, indentation), width / 2);
  std::string text;
  std::size_t used = 0;
  while (!line.empty()) {
    const std::size_t word = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    std::string_view next = line.substr(0, end);  // with the spaces before it
    line.remove_prefix(end);
    if (used + width_of(next) > width && used > after_break) {
      text += '\n' + std::string(after_break, ' ');
      used = after_break;
      next.remove_prefix(word);
    }
    while (used + width_of(next) > width) {  // a word that is longer than a line
      const std::string_view part = beginning(next, width - used);
      if (part.empty()) break;
      text += std::string(part) + '\n' + std::string(after_break, ' ');
      used = after_break;
      next.remove_prefix(part.size());
    }
    text += next;
    used += width_of(next);
  }
  return text;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  const WithAllCharacters all;
  std::size_t width = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    width += next.width;
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string padded(std::string text, std::size_t width) {
  text.append(width - std::min(width, width_of(text)), ' ');
  return text;
}

std::string cut_in_the_middle(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width <= dots.size()) return std::string(beginning(text, width));
  const std::size_t kept = width - dots.size();
  return std::string(beginning(text, kept - kept / 2)) + std::string(dots) +
         std::string(ending(text, kept / 2));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indentation) {
  if (width == unlimited) return std::string(text);
  std::string lines;
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    lines += wrapped_line(text.substr(0, end), width, indentation) + '\n';
  }
  return lines + wrapped_line(text, width, indentation);
}

void Table::add(Row cells, std::string remark) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
  remarks_.push_back(printable(remark));
}

std::string Table::text(std::size_t width) const {
  const Widths widths = fitted(width);
  Row headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  std::string text = line(headings, widths);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    text += line(rows_[i], widths);
    if (remarks_[i].empty()) continue;
    text += wrapped(std::string(of_remark, ' ') + remarks_[i], width) + '\n';
  }
  for (const bool quiet : {false, true}) {
    std::string missing;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] != left_out || columns_[i].quiet != quiet) continue;
      missing += (missing.empty() ? "" : ", ") + columns_[i].heading;
    }
    if (missing.empty()) continue;
    const std::string why = quiet ? "nothing unusual" : "no room";
    text += wrapped(why + ", see --wide: " + missing, width) + '\n';
  }
  return text;
}

Table::Widths Table::fitted(std::size_t width) const {
  Widths widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width_of(columns_[i].heading);
    for (const Row& row : rows_) widest = std::max(widest, width_of(row[i]));
    widths.push_back(widest);
  }
  if (width == unlimited) return widths;
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t one : widths) {
      if (one != left_out) sum += one + between_columns;
    }
    return sum - between_columns;
  };
  for (std::size_t i = columns_.size(); i-- > 0 && total() > width;) {
    if (columns_[i].quiet) widths[i] = left_out;
  }
  for (std::size_t i = columns_.size(); i-- > 0 && total() > width;) {
    if (columns_[i].is_extra) widths[i] = left_out;
  }
  while (total() > width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].is_name || widths[i] == left_out || widths[i] <= shortest_name) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
  return widths;
}

std::string Table::line(const Row& cells, const Widths& widths) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == left_out) continue;
    line += padded(cut_in_the_middle(cells[i], widths[i]), widths[i] + between_columns);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace quorumlock::cli
