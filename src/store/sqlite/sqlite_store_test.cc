// What only the sqlite engine has: files, their errors, compaction on disk, snapshots.
#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/sim_executor.h"
#include "base/run/thread.h"
#include "store/testing/store_testing.h"

namespace flyball::store {
namespace {

using StringList = std::vector<std::string>;

class SqliteStoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> Open(Executor& executor, Duration interval = Duration::zero()) {
    auto store = OpenSqliteStore({.path = path_, .compaction_interval = interval}, executor);
    EXPECT_TRUE(store) << store.error().ToString();
    return store ? std::move(*store) : nullptr;
  }
  std::unique_ptr<Store> Open() { return Open(executor_); }
  std::string OpenError() {
    auto store = OpenSqliteStore({.path = path_}, executor_);
    return store ? "(no error)" : store.error().message();
  }
  void Execute(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
    sqlite3_close(db);
  }
  std::int64_t Query(const std::string& sql) {
    sqlite3* db = nullptr;
    sqlite3_stmt* statement = nullptr;
    std::int64_t value = -1;
    if (sqlite3_open(path_.c_str(), &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
      value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "store.db";
  ThreadPool executor_{"test", 1};
};

TEST_F(SqliteStoreTest, RefusesAFileThatIsHeld) {
  auto store = Open();
  const std::string error = OpenError();
  EXPECT_NE(error.find("another process (pid " + std::to_string(getpid()) + ") holds it"), std::string::npos)
      << error;
  store.reset();
  EXPECT_TRUE(Open());
}

TEST_F(SqliteStoreTest, RefusesANewerFormat) {
  Open().reset();
  Execute(path_, "PRAGMA user_version = 7");
  const std::string error = OpenError();
  EXPECT_NE(error.find("its format 7 is newer than the format 1 this program knows"), std::string::npos)
      << error;
}

TEST_F(SqliteStoreTest, RefusesAnotherProgramsFile) {
  Execute(path_, "CREATE TABLE t (x)");
  EXPECT_NE(OpenError().find("another program"), std::string::npos) << OpenError();
}

TEST_F(SqliteStoreTest, RefusesWhatIsNoDatabase) {
  std::ofstream(path_) << std::string(10000, 'x');
  EXPECT_NE(OpenError().find("not a store"), std::string::npos) << OpenError();
}

TEST_F(SqliteStoreTest, RefusesAFolderThatIsNotThere) {
  auto store = OpenSqliteStore({.path = folder_ / "none/store.db"}, executor_);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message().find("its folder does not exist"), std::string::npos);
}

// In a child, because root, whom tests may run as, may write everything.
TEST_F(SqliteStoreTest, RefusesAFileThatIsNotWritable) {
  Open().reset();
  chmod(folder_.path().c_str(), 0755);
  chmod(path_.c_str(), 0444);
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    const std::string error = OpenError();
    _exit(write(fds[1], error.data(), error.size()) == static_cast<ssize_t>(error.size()) ? 0 : 1);
  }
  close(fds[1]);
  char error[1000] = {};
  EXPECT_GT(read(fds[0], error, sizeof error - 1), 0);
  close(fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(std::string(error).find("not writable"), std::string::npos) << error;
}

TEST_F(SqliteStoreTest, FilesAreTheOwnersAlone) {
  auto store = Open();
  ASSERT_TRUE(PutNow(*store, "/registry/secrets/a", "1"));
  ASSERT_TRUE(SaveSnapshot(path_, folder_ / "snapshot"));
  ASSERT_TRUE(RestoreSnapshot(folder_ / "snapshot", folder_ / "restored"));
  for (const char* name : {"store.db", "store.db-wal", "snapshot", "restored"}) {
    struct stat file {};
    ASSERT_EQ(stat((folder_ / name).c_str(), &file), 0) << name;
    EXPECT_EQ(file.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(SqliteStoreTest, RefusesATruncatedFile) {
  {
    auto store = Open();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(PutNow(*store, "k" + std::to_string(i), std::string(3000, 'v')));
  }
  ASSERT_EQ(truncate(path_.c_str(), 60000), 0);
  EXPECT_NE(OpenError().find("corrupt"), std::string::npos) << OpenError();
  EXPECT_FALSE(CheckStore(path_));
}

TEST_F(SqliteStoreTest, RefusesAFlippedBit) {
  {
    auto store = Open();
    ASSERT_TRUE(PutNow(*store, "key", std::string(1000, 'v') + "needle"));
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)), {});
  const auto at = content.find("needle");
  ASSERT_NE(at, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file.put('N');
  file.close();
  EXPECT_NE(OpenError().find("is not what was written"), std::string::npos) << OpenError();
  auto checked = CheckStore(path_);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("\"key\" at revision 2"), std::string::npos);
}

TEST_F(SqliteStoreTest, CompactionDeletesSupersededRowsOnly) {
  {
    auto store = Open();
    for (int i = 0; i < 1000; ++i)
      ASSERT_TRUE(PutNow(*store, "k" + std::to_string(i % 10), std::to_string(i)));
    ASSERT_TRUE(DeleteNow(*store, "k3"));
    ASSERT_TRUE(store->Compact(store->CurrentRevision()));
  }
  {
    auto store = Open();  // closing does not wait for the deletions: they go on here
    ASSERT_TRUE(PutNow(*store, "z", "1"));
    while (Query("SELECT count(*) FROM log") > 10)
      ASSERT_TRUE(PutNow(*store, "z", "1", Precondition::Absent()));
    EXPECT_EQ(*store->Count(""), 10u);
    EXPECT_FALSE(*store->Get("k3"));
  }
  EXPECT_TRUE(CheckStore(path_)) << CheckStore(path_).error().ToString();
  EXPECT_EQ(Query("SELECT count(*) FROM log"), 10);
  EXPECT_EQ(*Open()->Count(""), 10u);
}

TEST_F(SqliteStoreTest, ACompactionIsKnownAfterClosingAtOnce) {
  for (int i = 0; i < 20; ++i) {
    Revision compacted = 0;
    {
      auto store = Open();
      compacted = PutNow(*store, "k", std::to_string(i))->revision;
      ASSERT_TRUE(store->Compact(compacted));
    }
    ASSERT_EQ(Open()->CompactedRevision(), compacted);
  }
}

TEST_F(SqliteStoreTest, TheIntervalCompactsWhatIsOlder) {
  SimExecutor sim(1);
  auto store = Open(sim, std::chrono::minutes(5));
  ASSERT_TRUE(PutNow(*store, "a", "1"));
  const Revision r = PutNow(*store, "a", "2")->revision;
  RecordingSink sink;
  auto watch = store->WatchPrefix("", 0, &sink);
  sim.RunFor(std::chrono::minutes(5));
  ASSERT_TRUE(PutNow(*store, "a", "3"));
  EXPECT_LT(store->CompactedRevision(), r);
  sim.RunFor(std::chrono::minutes(5));
  EXPECT_EQ(store->CompactedRevision(), r);
  sink.WaitFor(r + 1);
}

TEST_F(SqliteStoreTest, SteadyUpdatesDoNotGrowTheFile) {
  auto store = Open();
  const auto round = [&] {
    for (int i = 0; i < 40; ++i) {
      Transaction transaction;
      for (int k = 0; k < 50; ++k)
        transaction.push_back(Put("k" + std::to_string(k), std::string(1000, 'v')));
      ASSERT_TRUE(CommitNow(*store, std::move(transaction)));
    }
    ASSERT_TRUE(store->Compact(store->CurrentRevision()));
    while (Query("SELECT count(*) FROM log") > 50)
      ASSERT_TRUE(PutNow(*store, "k1", "", Precondition::Absent()));
  };
  round();
  round();
  const std::int64_t pages = Query("PRAGMA page_count");
  for (int i = 0; i < 5; ++i) round();
  EXPECT_LE(Query("PRAGMA page_count"), pages + pages / 10);
  EXPECT_LT(store->Stats().bytes_on_disk, 40u << 20);
}

TEST_F(SqliteStoreTest, TimeToLiveSurvivesARestart) {
  SimExecutor sim(1);
  auto store = Open(sim);
  ASSERT_TRUE(PutNow(*store, "event", "1", {}, std::chrono::hours(1)));
  ASSERT_TRUE(PutNow(*store, "renewed", "1", {}, std::chrono::hours(1)));
  ASSERT_TRUE(PutNow(*store, "renewed", "2"));
  sim.RunFor(std::chrono::minutes(30));
  store.reset();
  store = Open(sim);
  RecordingSink sink;
  auto watch = store->WatchPrefix("", 0, &sink);
  sim.RunFor(std::chrono::minutes(29));
  EXPECT_TRUE(*store->Get("event"));
  sim.RunFor(std::chrono::minutes(2));
  sink.WaitForEvents(1);
  EXPECT_EQ(sink.events()[0].kv.key, "event");
  EXPECT_EQ(sink.events()[0].type, Event::Type::kDelete);
  sim.RunFor(std::chrono::hours(3));
  EXPECT_EQ(*(*store->Get("renewed"))->value, "2");
}

TEST_F(SqliteStoreTest, SnapshotOfARunningStoreIsConsistent) {
  auto store = Open();
  ASSERT_TRUE(CommitNow(*store, {Put("a", "first"), Put("b", "first")}));
  std::atomic<bool> stop{false};
  Thread writer("writer", [&] {
    for (int i = 0; !stop; ++i) {
      const std::string value = std::to_string(i);
      ASSERT_TRUE(CommitNow(*store, {Put("a", value), Put("b", value)}));
    }
  });
  const auto stop_writer = std::shared_ptr<void>(nullptr, [&](void*) { stop = true; });
  const std::string snapshot = folder_ / "snapshot";
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(PutNow(*store, "c" + std::to_string(i), "1"));
    const Revision before = store->CurrentRevision();
    Status saved = SaveSnapshot(path_, snapshot);
    ASSERT_TRUE(saved) << saved.error().ToString();
    auto info = ReadSnapshotInfo(snapshot);
    ASSERT_TRUE(info) << info.error().ToString();
    EXPECT_GE(info->revision, before);
    EXPECT_LE(info->revision, store->CurrentRevision());
    EXPECT_EQ(info->keys, 2u + static_cast<std::size_t>(i) + 1);
    EXPECT_GT(info->bytes, 0u);

    const std::string restored = folder_ / ("restored" + std::to_string(i));
    Status made = RestoreSnapshot(snapshot, restored);
    ASSERT_TRUE(made) << made.error().ToString();
    auto copy = OpenSqliteStore({.path = restored}, executor_);
    ASSERT_TRUE(copy) << copy.error().ToString();
    EXPECT_EQ(*(*(*copy)->Get("a"))->value, *(*(*copy)->Get("b"))->value);
    EXPECT_GT((*copy)->CurrentRevision(), store->CurrentRevision());
    EXPECT_EQ(*(*copy)->Count(""), info->keys);
    EXPECT_TRUE((*copy)->Range("", {.revision = info->revision}).error().Is(Reason::kExpired));
    ASSERT_TRUE(PutNow(**copy, "a", "again"));
    copy->reset();
    EXPECT_TRUE(CheckStore(restored)) << CheckStore(restored).error().ToString();
  }
}

TEST_F(SqliteStoreTest, RestoreDoesNotOverwriteAndChecksItsInput) {
  {
    auto store = Open();
    ASSERT_TRUE(PutNow(*store, "a", "1"));
    EXPECT_FALSE(CheckStore(path_));  // held
    ASSERT_TRUE(SaveSnapshot(path_, folder_ / "s"));
  }
  EXPECT_TRUE(RestoreSnapshot(folder_ / "s", path_).error().Is(Reason::kAlreadyExists));
  EXPECT_TRUE(RestoreSnapshot(folder_ / "none", folder_ / "new").error().Is(Reason::kNotFound));
  EXPECT_TRUE(SaveSnapshot(folder_ / "none", folder_ / "s").error().Is(Reason::kNotFound));
  std::ofstream(folder_ / "junk") << std::string(5000, 'j');
  EXPECT_FALSE(RestoreSnapshot(folder_ / "junk", folder_ / "new"));
  EXPECT_FALSE(ReadSnapshotInfo(folder_ / "junk"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  EXPECT_TRUE(CheckStore(path_));
}

}  // namespace
}  // namespace flyball::store
