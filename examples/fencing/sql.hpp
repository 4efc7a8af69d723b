// Fencing in an SQL database, here SQLite, to be copied: a row refuses former holders of the lock.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace fencing {

/// Documents that are each protected by a lock. Use one object and one connection for each thread.
/// While another connection writes, SQLite waits: set sqlite3_busy_timeout. Errors are
/// std::runtime_error.
class Documents {
 public:
  struct Document {
    std::string body;
    std::uint64_t fence = 0;
  };

  explicit Documents(sqlite3* database) : database_(database) {
    run(R"sql(
      CREATE TABLE IF NOT EXISTS document (
        id TEXT PRIMARY KEY,
        body TEXT NOT NULL DEFAULT '',
        fence INTEGER NOT NULL DEFAULT 0  -- 64 bits: BIGINT elsewhere
      )
    )sql");
  }

  /// Call this before reading anything: from here on all former holders are refused. Returns false
  /// if a later holder was here: the lock is no longer yours.
  bool check(const std::string& id, std::uint64_t fence) {
    return run(R"sql(
      INSERT INTO document (id, fence) VALUES (?1, ?2)
        ON CONFLICT (id) DO UPDATE SET fence = excluded.fence
        WHERE document.fence <= excluded.fence
    )sql",
               id, fence);
  }

  /// Changes an existing row. Returns false if refused; nothing is then changed.
  bool update(const std::string& id, const std::string& body, std::uint64_t fence) {
    return run(R"sql(
      UPDATE document SET body = ?3, fence = ?2 WHERE id = ?1 AND fence <= ?2
    )sql",
               id, fence, body);
  }

  /// Changes or inserts a row. Returns false if refused; nothing is then changed.
  bool put(const std::string& id, const std::string& body, std::uint64_t fence) {
    return run(R"sql(
      INSERT INTO document (id, body, fence) VALUES (?1, ?3, ?2)
        ON CONFLICT (id) DO UPDATE SET body = excluded.body, fence = excluded.fence
        WHERE document.fence <= excluded.fence
    )sql",
               id, fence, body);
  }

  /// Makes everything that `change()` does on this connection one transaction, for many rows under
  /// one lock. It is called after the check, whose row stays locked until the end.
  template <class Change>
  bool transact(const std::string& id, std::uint64_t fence, Change&& change) {
    run("BEGIN IMMEDIATE");  // in other databases BEGIN: the check itself locks its row
    try {
      const bool ours = check(id, fence);
      if (ours) std::forward<Change>(change)();
      run(ours ? "COMMIT" : "ROLLBACK");
      return ours;
    } catch (...) {
      sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
  }

  std::optional<Document> read(const std::string& id) {
    const Statement statement = prepare("SELECT body, fence FROM document WHERE id = ?1");
    bind(statement, 1, id);
    if (!step(statement)) return std::nullopt;
    const void* body = sqlite3_column_blob(statement.get(), 0);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), 0));
    return Document{{static_cast<const char*>(body), body == nullptr ? 0 : size},
                    static_cast<std::uint64_t>(sqlite3_column_int64(statement.get(), 1))};
  }

 private:
  using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

  void run(const char* sql) { step(prepare(sql)); }

  /// Returns whether it has changed a row.
  bool run(const char* sql, const std::string& id, std::uint64_t fence,
           const std::optional<std::string>& body = std::nullopt) {
    // 0: fencing is off. Beyond an sqlite3_int64 it would be negative, and pass every comparison.
    if (fence == 0 || fence > std::numeric_limits<std::int64_t>::max()) {
      throw std::runtime_error("not a fencing token: " + std::to_string(fence));
    }
    const Statement statement = prepare(sql);
    bind(statement, 1, id);
    expect_ok(sqlite3_bind_int64(statement.get(), 2, static_cast<sqlite3_int64>(fence)));
    if (body) bind(statement, 3, *body);
    step(statement);
    return sqlite3_changes(database_) == 1;
  }

  Statement prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    expect_ok(sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr));
    return {statement, &sqlite3_finalize};
  }

  void bind(const Statement& statement, int place, const std::string& text) {
    expect_ok(sqlite3_bind_text(statement.get(), place, text.data(), static_cast<int>(text.size()),
                                SQLITE_TRANSIENT));
  }

  /// Returns whether there is a row to read.
  bool step(const Statement& statement) {
    const int result = sqlite3_step(statement.get());
    if (result != SQLITE_DONE && result != SQLITE_ROW) expect_ok(result);
    return result == SQLITE_ROW;
  }

  void expect_ok(int result) {
    if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(database_));
  }

  sqlite3* database_;
};

}  // namespace fencing
