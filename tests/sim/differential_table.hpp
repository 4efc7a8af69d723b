#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/connections.hpp"
#include "support/seeded_random.hpp"

// What Differential asks both servers. A text is words between spaces; '' is an empty word. A word,
// or a part of one, that begins with $ is drawn from the alternatives of that name. CALL calls the
// script of this name; a / ends its keys.
namespace quorumlock::sim::table {

/// A command, or a call of a script, that both servers get, and how often a walk draws it.
struct Row {
  int weight;
  std::string_view text;
};
std::vector<Row> rows();

/// The states in which each script is called: of the lock $one, and of the lines of both locks.
std::vector<std::string_view> states_of_a_lock();
std::vector<std::string_view> states_of_a_line();

/// Steps between semicolons, which begin without any key. A step may have the reply that is
/// expected after =>: {} is an array, "now" the servers' time.
std::vector<std::string_view> stories();

/// Whether INFO is that of a Valkey from 9.1 on, which refuses otherwise in two conditions.
bool is_valkey_9_1(std::string_view info);
/// Whether a command is about nothing but the connection: that Valkey runs it although another
/// client's script keeps it busy.
bool is_of_connection(const Words& words);

/// Makes commands of texts.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random(seed) {}
  /// Draws a command. Each $lock in it is the same lock, and each $slot the same slot.
  Words command(std::string_view text, std::int64_t now_us);
  /// Draws the words of a text that is no command.
  Words words(std::string_view text, std::int64_t now_us);
  std::vector<Words> commands(std::string_view texts, std::int64_t now_us);

  test::SeededRandom random;
  bool usual = false;  ///< the first alternative is drawn each time, and a script with its source
  std::string lock = {};  ///< the name that $lock is; empty: it is drawn

 private:
  Words part(std::string_view text);
  Words alternative(const std::string& name);

  std::int64_t now_us_ = 0;
  std::map<std::string, Words> same_;  ///< what is drawn once for each command
};

/// The parts of a text between these separators.
std::vector<std::string_view> split(std::string_view text, std::string_view separator);

}  // namespace quorumlock::sim::table
