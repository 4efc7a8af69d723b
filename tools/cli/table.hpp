#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quorumlock::cli {

using Row = std::vector<std::string>;

/// For a width or height: there is no limit, as in a file or a pipe.
constexpr std::size_t unlimited = std::string::npos;

/// How many columns of a terminal a printable text takes: two for a wide character, such as most
/// Chinese ones, and none for an accent that joins the letter before it.
std::size_t width_of(std::string_view text);
/// Returns a printable text with spaces after it, so that it takes at least this many columns.
std::string padded(std::string text, std::size_t width);
/// Returns a printable text in at most this many columns, with "..." in its middle if it is cut.
std::string cut_in_the_middle(std::string_view text, std::size_t width);
/// Breaks the lines of a printable text between words. What follows a break is indented a little
/// more than the line that was broken; if that is an indented name and a text, as in a list of
/// options, it is indented as the text is.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indentation = 4);

/// A table for people, which fits into a width if it can: columns that say nothing unusual are left
/// out, then those that are less important than whole names, and then long names are cut. Every
/// table of this program is written by it.
class Table {
 public:
  struct Column {
    std::string heading;
    bool quiet = false;     ///< says nothing unusual, and may be left out
    bool is_name = false;   ///< may be cut in the middle
    bool is_extra = false;  ///< is left out rather than that a name is cut
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a line with a cell for each column, and below it a remark if there is one. Everything is
  /// made printable().
  void add(Row cells, std::string remark = {});
  /// Returns the headings, the lines, and last lines that name the columns that were left
  /// out.
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  /// How wide each column is; `left_out` for one that is not shown.
  using Widths = std::vector<std::size_t>;
  static constexpr std::size_t left_out = unlimited;

  [[nodiscard]] Widths fitted(std::size_t width) const;
  [[nodiscard]] std::string line(const Row& cells, const Widths& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
  std::vector<std::string> remarks_;  ///< of each row; may be empty
};

}  // namespace quorumlock::cli
