// Disks that fail under the sqlite engine: full, sync errors, torn writes, power loss.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/observe/log.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/fault_vfs.h"
#include "store/testing/store_testing.h"

namespace flyball::store {
namespace {

class SqliteFaultTest : public testing::Test {
 protected:
  SqliteFaultTest() {
    log::SetLevel(log::Level::kNone);  // the failures below are wanted
    FaultVfs::Get().Reset();
  }
  ~SqliteFaultTest() override {
    store_.reset();
    FaultVfs::Get().Reset();
    log::SetLevel(log::Level::kInfo);
  }
  void Open(int checkpoint_pages = 1024) {
    store_.reset();
    auto store = OpenSqliteStore({.path = path_,
                                  .compaction_interval = Duration::zero(),
                                  .checkpoint_pages = checkpoint_pages,
                                  .vfs = FaultVfs::kName},
                                 executor_);
    ASSERT_TRUE(store) << store.error().ToString();
    store_ = std::move(*store);
  }
  std::string ValueOf(const std::string& key) {
    auto kv = store_->Get(key);
    return kv && *kv ? *(*kv)->value : "(absent)";
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "store.db";
  ThreadPool executor_{"test", 1};
  std::unique_ptr<Store> store_;
  FaultVfs& disk_ = FaultVfs::Get();
};

TEST_F(SqliteFaultTest, AFullDiskFailsWritesUntilThereIsSpace) {
  Open();
  ASSERT_TRUE(PutNow(*store_, "a", "1"));
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", 0, &sink);
  disk_.SetFreeSpace(0);
  auto outcome = PutNow(*store_, "a", std::string(100'000, 'x'));
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message().find("the disk is full"), std::string::npos)
      << outcome.error().message();
  EXPECT_EQ(ValueOf("a"), "1");
  EXPECT_EQ(store_->CurrentRevision(), 2);
  EXPECT_FALSE(store_->Health());
  EXPECT_FALSE(PutNow(*store_, "b", std::string(100'000, 'x')));

  disk_.SetFreeSpace(-1);
  auto again = PutNow(*store_, "a", "2", Precondition::ModRevision(2));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(again->committed);
  EXPECT_TRUE(store_->Health());
  sink.WaitFor(again->revision);
  ASSERT_EQ(sink.events().size(), 1u);
  EXPECT_EQ(*sink.events()[0].previous->value, "1");
  Open();
  EXPECT_EQ(ValueOf("a"), "2");
  EXPECT_EQ(*store_->Count(""), 1u);
}

TEST_F(SqliteFaultTest, ALoneWriteCostsOneSync) {
  Open();
  ASSERT_TRUE(PutNow(*store_, "a", "0"));
  const std::uint64_t before = disk_.syncs(), told = store_->Stats().syncs;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(PutNow(*store_, "a", "1"));
  EXPECT_EQ(disk_.syncs() - before, 50u);
  EXPECT_NEAR(static_cast<double>(store_->Stats().syncs - told), 50, 1);
}

TEST_F(SqliteFaultTest, WritesThatComeTogetherShareASync) {
  Open();
  const std::uint64_t before = disk_.syncs();
  constexpr int kWrites = 1000;
  std::atomic<int> left{kWrites};
  Notification<bool> all;
  for (int i = 0; i < kWrites; ++i) {
    Transaction transaction;
    transaction.push_back(Put("k" + std::to_string(i), "v"));
    store_->Commit(std::move(transaction), [&](Result<CommitOutcome> outcome) {
      EXPECT_TRUE(outcome);
      if (--left == 0) all.Set(true);
    });
  }
  all.Wait();
  EXPECT_LT(disk_.syncs() - before, 500u);
  EXPECT_EQ(store_->Stats().commits, static_cast<std::uint64_t>(kWrites));
}

TEST_F(SqliteFaultTest, HealthFindsOutByItselfThatTheDiskIsWell) {
  Open();
  disk_.FailSyncs(1);
  ASSERT_FALSE(PutNow(*store_, "a", "1"));
  Status health = store_->Health();
  ASSERT_FALSE(health);
  // The check has the committer try; this watch is taken in after that.
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", 0, &sink);
  sink.WaitFor(1);
  while (!store_->Health()) {
  }
  EXPECT_TRUE(store_->Health());
}

TEST_F(SqliteFaultTest, AFailedSyncAcknowledgesNothing) {
  Open();
  ASSERT_TRUE(PutNow(*store_, "a", "1"));
  disk_.FailSyncs(1);
  EXPECT_FALSE(PutNow(*store_, "a", "2"));
  EXPECT_EQ(ValueOf("a"), "1");
  auto outcome = PutNow(*store_, "a", "3", Precondition::ModRevision(2));
  ASSERT_TRUE(outcome) << outcome.error().message();
  ASSERT_TRUE(outcome->committed);
  EXPECT_GT(outcome->revision, 3);  // the failed one's is not given out again
  Open();
  EXPECT_EQ(ValueOf("a"), "3");
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", 1, &sink);
  sink.WaitFor(outcome->revision);
  EXPECT_EQ(sink.events().size(), 2u);
}

// What is decided while a batch is on its way to the disk rests on it, and fails with it.
TEST_F(SqliteFaultTest, WhatRestsOnAFailedWriteFailsToo) {
  Open();
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(PutNow(*store_, "healthy", std::to_string(round)));
    const std::string key = "k" + std::to_string(round);
    disk_.FailSyncs(1);
    std::atomic<int> acknowledged{0}, failed{0};
    Notification<bool> all;
    constexpr int kWrites = 20;
    for (int i = 0; i < kWrites; ++i) {
      Transaction transaction;
      transaction.push_back(i == 0 ? Put(key, "0", Precondition::Absent())
                                   : Put(key, std::to_string(i), Precondition::Present()));
      store_->Commit(std::move(transaction), [&](Result<CommitOutcome> outcome) {
        if (outcome && outcome->committed)
          ++acknowledged;
        else
          ++failed;
        EXPECT_FALSE(outcome && outcome->current);  // a conflict with what never became durable
        if (acknowledged + failed == kWrites) all.Set(true);
      });
    }
    all.Wait();
    EXPECT_EQ(acknowledged, 0);
    EXPECT_EQ(ValueOf(key), "(absent)");
  }
  disk_.Reset();
  Open();
  EXPECT_EQ(*store_->Count("k"), 0u);
}

// What was asked of a store whose power goes again and again, and what it has answered.
class PowerLossTest : public SqliteFaultTest {
 protected:
  struct Written {
    std::string value;  // each transaction has its own
    std::set<std::string> keys;
  };

  // Everything acknowledged is there, everything else wholly or not at all.
  void Verify() {
    const Revision compacted = store_->CompactedRevision(), now = store_->CurrentRevision();
    ASSERT_GE(now, acknowledged_.empty() ? 1 : acknowledged_.rbegin()->first);
    std::map<Revision, Written> found;
    ASSERT_NO_FATAL_FAILURE(ReadHistory(std::max<Revision>(compacted, 1), now, &found));
    for (const auto& [revision, written] : acknowledged_) {
      if (revision <= compacted) continue;
      ASSERT_TRUE(found.contains(revision)) << "acknowledged revision " << revision << " is lost";
      ASSERT_EQ(found[revision].value, written.value);
    }
    for (const auto& [revision, written] : found) {
      ASSERT_TRUE(submitted_.contains(written.value));
      ASSERT_EQ(written.keys, submitted_[written.value]) << "half a transaction at revision " << revision;
    }
  }

  void WriteUntilPowerIsLost(Random& random) {
    while (!disk_.power_lost()) {
      Submit(random);
      const std::string key = "k" + std::to_string(random.Below(40));
      if (random.OneIn(10) || unanswered_ > 100) static_cast<void>(DeleteNow(*store_, key));
      if (random.OneIn(100)) static_cast<void>(store_->Compact(store_->CurrentRevision()));
    }
  }

  std::atomic<int> unanswered_{0};

 private:
  void ReadHistory(Revision after, Revision up_to, std::map<Revision, Written>* found) {
    RecordingSink sink;
    auto watch = store_->WatchPrefix("", after, &sink);
    sink.WaitFor(up_to);
    ASSERT_FALSE(sink.error());
    for (const Event& event : sink.events()) {
      if (event.type == Event::Type::kDelete) continue;
      (*found)[event.kv.mod_revision].value = *event.kv.value;
      (*found)[event.kv.mod_revision].keys.insert(event.kv.key);
    }
  }

  void Submit(Random& random) {
    Written written{"v" + std::to_string(++serial_) + std::string(random.Below(3000), '.'), {}};
    Transaction transaction;
    for (std::uint64_t i = 0, n = 1 + random.Below(3); i < n; ++i) {
      const std::string key = "k" + std::to_string(random.Below(40));
      if (written.keys.insert(key).second) transaction.push_back(Put(key, written.value));
    }
    submitted_[written.value] = written.keys;
    ++unanswered_;
    store_->Commit(std::move(transaction), [this, written](Result<CommitOutcome> outcome) {
      // On the committer's thread, which is joined before anyone else looks.
      if (outcome) acknowledged_[outcome->revision] = written;
      --unanswered_;
    });
  }

  int serial_ = 0;
  std::map<std::string, std::set<std::string>> submitted_;  // by value
  std::map<Revision, Written> acknowledged_;
};

// Random transactions until the power goes at a random write or sync, again and again.
TEST_F(PowerLossTest, KeepsWhatWasAcknowledged) {
  const std::uint64_t seed = Random::System().Next();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Open(20);  // checkpoints often: the power must go in one now and then
    ASSERT_NO_FATAL_FAILURE(Verify());
    disk_.LosePowerAfter(1 + static_cast<std::int64_t>(random.Below(120)));
    WriteUntilPowerIsLost(random);
    store_.reset();
    ASSERT_EQ(unanswered_, 0);
    disk_.ApplyPowerLoss(random);
    std::filesystem::remove(path_ + "-shm");
    disk_.Reset();
    Status checked = round % 5 == 0 ? CheckStore(path_) : Status();
    ASSERT_TRUE(checked) << checked.error().ToString();
  }
  Open();
  Verify();
}

}  // namespace
}  // namespace flyball::store
