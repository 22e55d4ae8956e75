#include "store/testing/linearizability.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/thread.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/store_testing.h"

namespace flyball::store {
namespace {

using Kind = RegisterOperation::Kind;

TEST(LinearizabilityChecker, AcceptsOverlapInAnyOrder) {
  EXPECT_TRUE(
      LinearizabilityChecker({{Kind::kWrite, 1, 10, 0, true, 5}, {Kind::kRead, 2, 3, 0, true, 0}}).Check());
  EXPECT_TRUE(
      LinearizabilityChecker({{Kind::kWrite, 1, 10, 0, true, 5}, {Kind::kRead, 2, 3, 0, true, 5}}).Check());
}

TEST(LinearizabilityChecker, RefusesAStaleRead) {
  EXPECT_FALSE(
      LinearizabilityChecker({{Kind::kWrite, 1, 2, 0, true, 5}, {Kind::kRead, 3, 4, 0, true, 0}}).Check());
}

TEST(LinearizabilityChecker, RefusesReadsThatGoBack) {
  EXPECT_FALSE(LinearizabilityChecker({{Kind::kWrite, 1, 10, 0, true, 5},
                                       {Kind::kRead, 2, 3, 0, true, 5},
                                       {Kind::kRead, 4, 5, 0, true, 0}})
                   .Check());
}

TEST(LinearizabilityChecker, RefusesTwoSwapsFromOneVersion) {
  EXPECT_FALSE(LinearizabilityChecker(
                   {{Kind::kCompareAndSet, 1, 10, 0, true, 5}, {Kind::kCompareAndSet, 1, 10, 0, true, 6}})
                   .Check());
}

// Clients that read, write and compare-and-set a few keys at once, each call with its times.
class Recorder {
 public:
  explicit Recorder(Store& store) : store_(store) {}

  void RunClient(std::uint64_t seed, int operations, int keys) {
    Random random(seed);
    std::map<std::string, Revision> last_seen;
    for (int i = 0; i < operations; ++i) {
      const std::string key = "k" + std::to_string(random.Below(static_cast<std::uint64_t>(keys)));
      RegisterOperation operation;
      operation.called = ++time_;
      switch (random.Below(3)) {
        case 0:
          Read(key, &operation);
          break;
        case 1:
          Write(key, &operation);
          break;
        default:
          CompareAndSet(key, last_seen[key], &operation);
      }
      operation.returned = ++time_;
      last_seen[key] = operation.version;
      MutexLock lock(mu_);
      histories_[key].push_back(operation);
    }
  }

  std::map<std::string, std::vector<RegisterOperation>> TakeHistories() {
    MutexLock lock(mu_);
    return std::move(histories_);
  }

 private:
  void Read(const std::string& key, RegisterOperation* operation) {
    auto kv = store_.Get(key);
    operation->version = *kv ? (*kv)->mod_revision : 0;
  }
  void Write(const std::string& key, RegisterOperation* operation) {
    operation->kind = Kind::kWrite;
    operation->version = PutNow(store_, key, "w")->revision;
  }
  void CompareAndSet(const std::string& key, Revision expected, RegisterOperation* operation) {
    operation->kind = Kind::kCompareAndSet;
    operation->expected = expected;
    const auto outcome = *PutNow(store_, key, "c", Precondition::ModRevision(expected));
    operation->succeeded = outcome.committed;
    operation->version =
        outcome.committed ? outcome.revision : (outcome.current ? outcome.current->mod_revision : 0);
  }

  Store& store_;
  std::atomic<std::int64_t> time_{0};  // a clock on which every call and return has its own moment
  Mutex mu_;
  std::map<std::string, std::vector<RegisterOperation>> histories_ FLYBALL_GUARDED_BY(mu_);
};

void CheckEngine(const std::function<std::unique_ptr<Store>(int round)>& open) {
  constexpr int kRounds = 40, kClients = 6, kOperations = 24, kKeys = 4;
  const std::uint64_t seed = Random::System().Next();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (int round = 0; round < kRounds; ++round) {
    auto store = open(round);
    Recorder recorder(*store);
    {
      std::vector<Thread> clients;
      for (std::uint64_t c = 0; c < kClients; ++c)
        clients.emplace_back("client", [&, c] {
          recorder.RunClient(seed + static_cast<std::uint64_t>(round) * kClients + c, kOperations, kKeys);
        });
    }
    for (auto& [key, history] : recorder.TakeHistories()) {
      ASSERT_LE(history.size(), 64u);
      ASSERT_TRUE(LinearizabilityChecker(history).Check()) << "round " << round << ", key " << key;
    }
  }
}

TEST(Linearizability, Memory) {
  ThreadPool executor("test", 1);
  CheckEngine([&](int) { return NewMemoryStore(executor); });
}

TEST(Linearizability, Sqlite) {
  ThreadPool executor("test", 1);
  TempFolder folder;
  CheckEngine([&](int round) {
    return std::move(*OpenSqliteStore({.path = folder / ("store" + std::to_string(round))}, executor));
  });
}

}  // namespace
}  // namespace flyball::store
