// Operating a sqlite store: a lost write-ahead log, defragmentation, the size quota.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/durable_file.h"
#include "base/run/executor.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/store_testing.h"

namespace flyball::store {
namespace {

// Hole: a deleted write-ahead log, or a copy of the file alone, started with older data without a word.
TEST(SqliteUpkeepTest, AFileInUseWithoutItsWriteAheadLogIsRefused) {
  TempFolder folder;
  ThreadPool executor("test", 1);
  auto store = OpenSqliteStore({.path = folder / "live.db"}, executor);
  ASSERT_TRUE(store);
  ASSERT_TRUE(PutNow(**store, "a", "1"));
  std::filesystem::copy_file(folder / "live.db", folder / "copy.db");

  const auto opened = OpenSqliteStore({.path = folder / "copy.db"}, executor);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("write-ahead log"), std::string::npos) << opened.error().message();
  EXPECT_NE(opened.error().message().find("flyball snapshot restore"), std::string::npos);
  EXPECT_FALSE(OpenSqliteStore({.path = folder / "copy.db"}, executor)) << "the first refusal changed it";
  EXPECT_FALSE(CheckStore(folder / "copy.db"));

  ASSERT_TRUE(CheckStore(folder / "copy.db", {.accept_missing_log = true}));
  EXPECT_TRUE(OpenSqliteStore({.path = folder / "copy.db"}, executor));
}

TEST(SqliteUpkeepTest, AFileInUseWithItsWriteAheadLogHasEverything) {
  TempFolder folder;
  ThreadPool executor("test", 1);
  auto store = OpenSqliteStore({.path = folder / "live.db"}, executor);
  ASSERT_TRUE(store);
  ASSERT_TRUE(PutNow(**store, "a", "1"));
  std::filesystem::copy_file(folder / "live.db", folder / "copy.db");
  std::filesystem::copy_file(folder / "live.db-wal", folder / "copy.db-wal");

  ASSERT_TRUE(CheckStore(folder / "copy.db"));
  auto copy = OpenSqliteStore({.path = folder / "copy.db"}, executor);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(*(*(*copy)->Get("a"))->value, "1");
}

TEST(SqliteUpkeepTest, AStoreClosedInOrderNeedsNoWriteAheadLog) {
  TempFolder folder;
  ThreadPool executor("test", 1);
  {
    auto store = OpenSqliteStore({.path = folder / "s.db"}, executor);
    ASSERT_TRUE(PutNow(**store, "a", "1"));
    ASSERT_TRUE(SaveSnapshot(folder / "s.db", folder / "snapshot.db"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "s.db-wal"));
  for (const char* name : {"s.db", "snapshot.db"}) {
    auto store = OpenSqliteStore({.path = folder / name}, executor);
    ASSERT_TRUE(store) << name;
    EXPECT_EQ(*(*(*store)->Get("a"))->value, "1");
  }
}

TEST(SqliteUpkeepTest, InitMakesAnEmptyStoreAndKeepsAnExistingOne) {
  TempFolder folder;
  ThreadPool executor("test", 1);
  ASSERT_TRUE(InitStore(folder / "s.db"));
  EXPECT_GT(std::filesystem::file_size(folder / "s.db"), 0u);
  {
    auto store = OpenSqliteStore({.path = folder / "s.db"}, executor);
    ASSERT_TRUE(PutNow(**store, "a", "1"));
  }
  const Status again = InitStore(folder / "s.db");
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().Is(Reason::kAlreadyExists));
}

TEST(SqliteUpkeepTest, DefragGivesSpaceBackAndLosesNothing) {
  TempFolder folder;
  ThreadPool executor("test", 1);
  {
    auto store = OpenSqliteStore({.path = folder / "s.db"}, executor);
    ASSERT_TRUE(store);
    for (int i = 0; i < 64; ++i)
      ASSERT_TRUE(PutNow(**store, "k" + std::to_string(i), std::string(65536, 'x')));
    for (int i = 1; i < 64; ++i) ASSERT_TRUE(DeleteNow(**store, "k" + std::to_string(i)));
    ASSERT_TRUE((*store)->Compact((*store)->CurrentRevision()));
    EXPECT_FALSE(DefragStore(folder / "s.db")) << "it is in use";
    // Rows go in small steps, each after a write at the latest.
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(PutNow(**store, "k0", std::string(1024, 'y')));
  }
  const auto result = DefragStore(folder / "s.db");
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_LT(result->bytes_after, result->bytes_before / 4);
  ASSERT_TRUE(CheckStore(folder / "s.db"));
  auto store = OpenSqliteStore({.path = folder / "s.db"}, executor);
  ASSERT_TRUE(store);
  EXPECT_EQ((*(*store)->Get("k0"))->value->size(), 1024u);
}

// etcd's quota: puts are refused, reads, deletions and compaction go on, and below the quota all is well.
TEST(SqliteUpkeepTest, AStoreOverItsQuotaTakesOnlyDeletionsUntilItIsCompacted) {
  TempFolder folder;
  ThreadPool executor("test", 1);
  auto store = OpenSqliteStore({.path = folder / "s.db", .quota_bytes = 1 << 20}, executor);
  ASSERT_TRUE(store);
  Error refusal = InternalError("");
  int keys = 0;
  for (; keys < 1000; ++keys) {
    const auto put = PutNow(**store, "k" + std::to_string(keys), std::string(65536, 'x'));
    if (put) continue;
    refusal = put.error();
    break;
  }
  ASSERT_GT(keys, 8);
  ASSERT_LT(keys, 17);
  EXPECT_EQ(refusal.message(), "etcdserver: mvcc: database space exceeded");
  EXPECT_EQ(refusal.code(), 500);
  EXPECT_TRUE((*store)->Stats().no_space);
  EXPECT_FALSE(PutNow(**store, "small", "x")) << "the alarm holds for all puts";
  EXPECT_TRUE((*store)->Health()) << "it can be read and emptied";
  EXPECT_EQ((*(*store)->Get("k0"))->value->size(), 65536u);

  for (int i = 0; i < keys; ++i) ASSERT_TRUE(DeleteNow(**store, "k" + std::to_string(i)));
  ASSERT_TRUE((*store)->Compact((*store)->CurrentRevision()));
  // The deletions' rows go in the background; each refused write has the committer look again.
  for (int i = 0; (*store)->Stats().no_space && i < 100000; ++i)
    static_cast<void>(DeleteNow(**store, "none"));
  EXPECT_FALSE((*store)->Stats().no_space);
  EXPECT_TRUE(PutNow(**store, "small", "x"));
}

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() {
    auto store = OpenSqliteStore({.path = folder_ / "s.db"}, executor_);
    EXPECT_TRUE(PutNow(**store, "a", "1"));
    EXPECT_TRUE(PutNow(**store, "b", "2"));
    EXPECT_TRUE(DeleteNow(**store, "b"));
  }
  static bool Contains(const std::string& path, const std::string& text) {
    const auto content = ReadFile(path);
    EXPECT_TRUE(content) << path;
    return content && content->find(text) != std::string::npos;
  }
  std::string Snapshot() const { return folder_ / "snapshot.db"; }

  TempFolder folder_;
  ThreadPool executor_{"test", 1};
  const std::vector<SnapshotFile> files_ = {{"pki/ca.crt", "the certificate"},
                                            {"pki/ca.key", "the private key"}};
};

TEST_F(SnapshotTest, KeepsFilesAndAChecksum) {
  ASSERT_TRUE(SaveSnapshot(folder_ / "s.db", Snapshot(), {files_, ""}));
  const auto info = ReadSnapshotInfo(Snapshot());
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->keys, 1u);
  EXPECT_EQ(info->files, 2u);
  EXPECT_TRUE(info->verified);
  EXPECT_FALSE(info->sealed);
  const auto files = ReadSnapshotFiles(Snapshot());
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[1].name, "pki/ca.key");
  EXPECT_EQ((*files)[1].content, "the private key");
}

TEST_F(SnapshotTest, ARestoredStoreDoesNotContainTheFiles) {
  ASSERT_TRUE(SaveSnapshot(folder_ / "s.db", Snapshot(), {files_, ""}));
  ASSERT_TRUE(Contains(Snapshot(), "the private key"));
  ASSERT_TRUE(RestoreSnapshot(Snapshot(), folder_ / "restored.db"));
  EXPECT_FALSE(Contains(folder_ / "restored.db", "the private key"));
  ASSERT_TRUE(CheckStore(folder_ / "restored.db"));
  auto store = OpenSqliteStore({.path = folder_ / "restored.db"}, executor_);
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_EQ(*(*(*store)->Get("a"))->value, "1");
}

TEST_F(SnapshotTest, APassphraseSealsTheFiles) {
  ASSERT_TRUE(SaveSnapshot(folder_ / "s.db", Snapshot(), {files_, "correct horse"}));
  EXPECT_FALSE(Contains(Snapshot(), "the private key"));
  EXPECT_TRUE(ReadSnapshotInfo(Snapshot())->sealed);
  const auto none = ReadSnapshotFiles(Snapshot());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("--passphrase-file"), std::string::npos);
  const auto wrong = ReadSnapshotFiles(Snapshot(), "battery staple");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("not the passphrase"), std::string::npos);
  EXPECT_EQ((*ReadSnapshotFiles(Snapshot(), "correct horse"))[1].content, "the private key");
}

TEST_F(SnapshotTest, ADamagedOneIsRefused) {
  ASSERT_TRUE(SaveSnapshot(folder_ / "s.db", Snapshot(), {files_, ""}));
  std::string content = *ReadFile(Snapshot());
  const auto at = content.find("the private key");
  ASSERT_NE(at, std::string::npos);
  content[at] = 'T';
  ASSERT_TRUE(WriteFileDurably(Snapshot(), content));
  const Status restored = RestoreSnapshot(Snapshot(), folder_ / "restored.db");
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message().find("does not match its checksum"), std::string::npos)
      << restored.error().message();
  EXPECT_FALSE(ReadSnapshotInfo(Snapshot()));
  EXPECT_FALSE(ReadSnapshotFiles(Snapshot()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "restored.db"));
}

}  // namespace
}  // namespace flyball::store
