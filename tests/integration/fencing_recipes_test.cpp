#include <hiredis/hiredis.h>
#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "fencing/file.hpp"
#include "fencing/redis.hpp"
#include "fencing/sql.hpp"
#include "integration/fixture.hpp"

// The recipes of examples/fencing: the resource refuses stale tokens of real leases.
namespace quorumlock::test {
namespace {

using Sqlite = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Sqlite open_database(const std::filesystem::path& file) {
  sqlite3* database = nullptr;
  const int result = sqlite3_open(file.c_str(), &database);
  Sqlite owned(database, &sqlite3_close);
  if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(database));
  sqlite3_busy_timeout(database, 20'000);
  sqlite3_exec(database, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
  return owned;
}

using Connection = std::unique_ptr<redisContext, decltype(&redisFree)>;

Connection open_connection(const std::string& url) {
  Connection connection(redisConnectUnix(url.substr(std::string("unix://").size()).c_str()),
                        &redisFree);
  if (connection == nullptr || connection->err != 0) throw std::runtime_error("no connection");
  return connection;
}

/// A record that one of the recipes protects.
class Record {
 public:
  struct Content {
    std::string text;
    std::uint64_t fence;
  };
  virtual ~Record() = default;
  virtual bool check(std::uint64_t fence) = 0;
  virtual bool write(const std::string& text, std::uint64_t fence) = 0;
  virtual Content read() = 0;
};

/// The place of a test's records: a server or a directory.
struct Place {
  std::string server;
  std::filesystem::path directory;
};

class SqlRecord : public Record {
 public:
  explicit SqlRecord(const Place& place) : database_(open_database(place.directory / "data")) {}
  bool check(std::uint64_t fence) override { return documents_.check("id", fence); }
  bool write(const std::string& text, std::uint64_t fence) override {
    return documents_.put("id", text, fence);
  }
  Content read() override {
    const auto document = documents_.read("id").value_or(fencing::Documents::Document{});
    return {document.body, document.fence};
  }

 private:
  Sqlite database_;
  fencing::Documents documents_{database_.get()};
};

class FileRecord : public Record {
 public:
  explicit FileRecord(const Place& place) : file_(place.directory / "record") {}
  bool check(std::uint64_t fence) override { return file_.check(fence); }
  bool write(const std::string& text, std::uint64_t fence) override {
    return file_.write(text, fence);
  }
  Content read() override {
    const auto content = file_.read();
    return {content.body, content.fence};
  }

 private:
  fencing::File file_;
};

class RedisRecord : public Record {
 public:
  explicit RedisRecord(const Place& place) : connection_(open_connection(place.server)) {}
  bool check(std::uint64_t fence) override { return key_.check(fence); }
  bool write(const std::string& text, std::uint64_t fence) override {
    return key_.write(text, fence);
  }
  Content read() override {
    const auto content = key_.read();
    return {content.value, content.fence};
  }

 private:
  Connection connection_;
  fencing::RedisKey key_{connection_.get(), "record"};
};

struct Recipe {
  const char* name;
  std::unique_ptr<Record> (*open)(const Place&);
};
void PrintTo(const Recipe& recipe, std::ostream* out) {
  *out << recipe.name;
}

template <class T>
constexpr Recipe recipe(const char* name) {
  return {name,
          [](const Place& place) -> std::unique_ptr<Record> { return std::make_unique<T>(place); }};
}

/// The record's server is the first of the lock's own nodes; in production it would be another one.
class FencingRecipes : public FiveNodes, public ::testing::WithParamInterface<Recipe> {
 public:
  static void SetUpTestSuite() { start({.plain = true}); }  // a node is the store

 protected:
  std::unique_ptr<Record> open() {
    return GetParam().open({cluster().plain_urls().front(), directory_.path()});
  }

 private:
  TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(Of, FencingRecipes,
                         ::testing::Values(recipe<SqlRecord>("Sql"), recipe<FileRecord>("File"),
                                           recipe<RedisRecord>("Redis")),
                         [](const auto& one) { return one.param.name; });

TEST_P(FencingRecipes, TheLateWriteOfAFormerHolderIsRefused) {
  // The first holder pauses until its lease has run out and another holder has written, then goes
  // on.
  Coordinator coordinator = connect();
  const auto record = open();
  const Lease older =
      coordinator.acquire(key, {.ttl = 300ms, .wait = 20s, .auto_extend = false}).value();
  EXPECT_TRUE(record->check(older.fencing_token()));
  EXPECT_TRUE(record->write("older", older.fencing_token()));
  const Lease newer = coordinator.acquire(key, {.wait = 20s}).value();
  ASSERT_GT(newer.fencing_token(), older.fencing_token());
  EXPECT_TRUE(record->write("newer", newer.fencing_token()));
  EXPECT_FALSE(record->write("late", older.fencing_token()));
  EXPECT_FALSE(record->check(older.fencing_token()));
  EXPECT_EQ(record->read().text, "newer");
  EXPECT_EQ(record->read().fence, newer.fencing_token());
}

TEST_P(FencingRecipes, ACheckShutsOutFormerHoldersBeforeAnythingIsRead) {
  // After the new holder's check, its reads stay true until it writes.
  Coordinator coordinator = connect();
  const auto record = open();
  std::uint64_t older = 0;
  {
    const Lease lease = coordinator.acquire(key).value();
    older = lease.fencing_token();
    EXPECT_TRUE(record->write("5", older));
  }
  const Lease newer = coordinator.acquire(key, {.wait = 20s}).value();
  EXPECT_TRUE(record->check(newer.fencing_token()));
  const int number = std::stoi(record->read().text);
  EXPECT_FALSE(record->write("6", older));
  EXPECT_TRUE(record->write(std::to_string(number + 10), newer.fencing_token()));
  EXPECT_EQ(record->read().text, "15");
}

TEST_P(FencingRecipes, AHolderWritesAsOftenAsItLikes) {
  // A repeated token belongs to the same holder, so it is accepted.
  Coordinator coordinator = connect();
  const auto record = open();
  const Lease lease = coordinator.acquire(key).value();
  for (const char* text : {"one", "", "three"}) {
    EXPECT_TRUE(record->check(lease.fencing_token()));
    EXPECT_TRUE(record->write(text, lease.fencing_token()));
    EXPECT_EQ(record->read().text, text);
  }
}

TEST_P(FencingRecipes, TheGreatestTokenOfManyWritersRemains) {
  // Four threads write under interleaved tokens. Each sees the stored token only grow, along with
  // the text that was written under it.
  constexpr std::uint64_t first = 1'700'000'000'000'000;
  constexpr int turns = 100;
  constexpr int writers = 4;
  open();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      try {
        const auto record = open();
        std::uint64_t last = 0;
        for (int turn = 0; turn < turns; ++turn) {
          const std::uint64_t fence = first + static_cast<std::uint64_t>(turn * 3 + writer);
          const bool accepted = record->write(std::to_string(fence), fence);
          const Record::Content now = record->read();
          if (now.text != std::to_string(now.fence)) ++wrong;
          if (now.fence < last || now.fence < fence) ++wrong;
          if (!accepted && now.fence == fence) ++wrong;
          last = now.fence;
        }
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(open()->read().fence, first + (turns - 1) * 3 + writers - 1);
}

TEST_P(FencingRecipes, TokensCloseToTheGreatestAreDistinguished) {
  // Comparing the numbers as doubles, or as text, would fail one of these.
  const std::uint64_t greatest = (std::uint64_t{1} << 53U) - 1;
  const auto record = open();
  EXPECT_TRUE(record->write("9", 9));
  EXPECT_TRUE(record->write("10", 10));
  EXPECT_FALSE(record->write("9", 9));
  EXPECT_TRUE(record->write("greatest", greatest));
  EXPECT_FALSE(record->write("one below", greatest - 1));
  EXPECT_EQ(record->read().fence, greatest);
  EXPECT_EQ(record->read().text, "greatest");
}

class FencingRecipesRows : public ::testing::Test {
 protected:
  TemporaryDirectory directory;
  Sqlite database = open_database(directory.path() / "data");
  fencing::Documents documents{database.get()};
};

TEST_F(FencingRecipesRows, AnUpdateNeedsAnExistingRow) {
  // An update changes neither a missing row nor a newer one.
  EXPECT_FALSE(documents.update("id", "nobody's", 7));
  EXPECT_FALSE(documents.read("id"));
  EXPECT_TRUE(documents.put("id", "first", 7));
  EXPECT_TRUE(documents.update("id", "again", 7));
  EXPECT_TRUE(documents.update("id", "newer", 8));
  EXPECT_FALSE(documents.update("id", "late", 7));
  EXPECT_EQ(documents.read("id")->body, "newer");
}

TEST_F(FencingRecipesRows, AFormerHolderChangesNoneOfManyRows) {
  // The lock "all" protects these rows, which carry no fence of their own.
  const auto change = [&](const std::string& text, std::uint64_t fence) {
    return documents.transact("all", fence, [&] {
      for (const char* id : {"a", "b"}) documents.put(id, text, 1);
    });
  };
  EXPECT_TRUE(change("older", 7));
  EXPECT_TRUE(documents.check("all", 8));
  EXPECT_FALSE(change("late", 7));
  EXPECT_FALSE(documents.transact("all", 7, [] { ADD_FAILURE() << "it is called"; }));
  EXPECT_EQ(documents.read("b")->body, "older");
  EXPECT_TRUE(change("newer", 8));
  EXPECT_EQ(documents.read("a")->body, "newer");
}

TEST_F(FencingRecipesRows, AChangeThatFailsIsUndoneWithItsCheck) {
  // The connection is still usable afterwards.
  const auto fail = [&] {
    documents.put("a", "half of it", 1);
    throw std::out_of_range("no more");
  };
  EXPECT_THROW(documents.transact("all", 9, fail), std::out_of_range);
  EXPECT_FALSE(documents.read("a"));
  EXPECT_TRUE(documents.transact("all", 8, [] {}));
}

TEST_F(FencingRecipesRows, AZeroTokenIsAnError) {
  // A lease without fencing reports 0 as its token.
  EXPECT_THROW(documents.put("id", "text", 0), std::runtime_error);
  EXPECT_THROW(documents.put("id", "text", ~std::uint64_t{0}), std::runtime_error);
}

TEST(FencingRecipesFile, AFileThatACrashLeftIsOverwritten) {
  // The new file, which was never renamed, is overwritten.
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "record";
  std::ofstream(path.string() + ".new") << "99\nhalf";
  fencing::File file(path);
  EXPECT_EQ(file.read().fence, 0U);
  EXPECT_TRUE(file.write("first\nand second line", 7));
  EXPECT_EQ(file.read().body, "first\nand second line");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".new"));
}

TEST(FencingRecipesFile, AFileWrittenByOthersIsAnError) {
  // The file must not count as a new one, whose first writer may have any token.
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "record";
  std::ofstream(path) << "no token here\n";
  fencing::File file(path);
  EXPECT_THROW(file.write("text", 7), std::system_error);
  EXPECT_FALSE(fencing::File(directory.path() / "other").write("text", 0));
  EXPECT_THROW((void)fencing::File(directory.path() / "no" / "such").write("text", 7),
               std::system_error);
}

class FencingRecipesKey : public FiveNodes {
 public:
  static void SetUpTestSuite() { start({.plain = true}); }

 protected:
  Connection connection = open_connection(cluster().plain_urls().front());
  fencing::RedisKey record{connection.get(), key};
};

TEST_F(FencingRecipesKey, TokensThatARedisScriptCannotDistinguishAreErrors) {
  // From 2^53 on, a script cannot tell a number from its neighbour.
  EXPECT_TRUE(record.write("kept", 7));
  EXPECT_THROW(record.write("text", 0), std::runtime_error);
  EXPECT_THROW(record.write("text", std::uint64_t{1} << 53U), std::runtime_error);
  EXPECT_THROW(record.write("text", (std::uint64_t{1} << 53U) + 1), std::runtime_error);
  EXPECT_EQ(record.read().value, "kept");
}

TEST_F(FencingRecipesKey, AKeyOfAnotherKindIsAnErrorAndLeftAlone) {
  // Another client's string exists under the same name.
  cluster().plant(0, key);
  EXPECT_THROW(record.write("text", 7), std::runtime_error);
  EXPECT_THROW(record.read(), std::runtime_error);
  EXPECT_EQ(cluster().value(0, key), "foreign");
}

}  // namespace
}  // namespace quorumlock::test
