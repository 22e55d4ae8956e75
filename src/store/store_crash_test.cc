// A process that writes to a store is killed at random moments; what it acknowledged must be there
// afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <set>

#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/thread.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/store_testing.h"

namespace flyball::store {
namespace {

constexpr int kKills = 200;
constexpr int kWriters = 4;

// What the child says over the pipe after each acknowledgement. Smaller than PIPE_BUF: never torn.
struct Acknowledgement {
  Revision revision;
  std::uint64_t serial;
};

// A transaction's keys all get a value that names the transaction and all its keys.
std::string ValueFor(std::uint64_t serial, const std::set<std::string>& keys) {
  std::string value = std::to_string(serial) + ":";
  for (const std::string& key : keys) value += key + ",";
  return value;
}

void WriteUntilKilled(Store& store, std::uint64_t seed, int pipe) {
  Random random(seed);
  for (;;) {
    const std::uint64_t serial = random.Next() >> 1;
    std::set<std::string> keys;
    while (keys.size() < 1 + random.Below(3)) keys.insert("k" + std::to_string(random.Below(50)));
    Transaction transaction;
    for (const std::string& key : keys) transaction.push_back(Put(key, ValueFor(serial, keys)));
    auto outcome = CommitNow(store, std::move(transaction));
    if (!outcome) _exit(3);
    const Acknowledgement acknowledgement{outcome->revision, serial};
    if (write(pipe, &acknowledgement, sizeof acknowledgement) != sizeof acknowledgement) _exit(4);
  }
}

// Never returns. `seen`: history up to it may be compacted, no watcher needs it any more.
[[noreturn]] void RunChild(const std::string& path, std::uint64_t seed, Revision seen, int pipe) {
  ThreadPool executor("child", 1);
  auto store = OpenSqliteStore({.path = path, .checkpoint_pages = 50}, executor);
  if (!store) _exit(2);
  if (!(*store)->Compact(seen)) _exit(5);
  std::vector<Thread> writers;
  for (std::uint64_t w = 0; w < kWriters; ++w)
    writers.emplace_back("writer", [&, w] { WriteUntilKilled(**store, seed + w, pipe); });
  writers.clear();
  _exit(0);
}

struct Transacted {
  std::uint64_t serial = 0;
  std::set<std::string> keys;
};

class StoreCrashTest : public testing::Test {
 protected:
  // Starts a child, kills it after a while, answers what it had acknowledged.
  std::vector<Acknowledgement> RunAndKill(Random& random) {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    const std::uint64_t seed = random.Next();
    const pid_t child = fork();
    if (child == 0) {
      close(fds[0]);
      RunChild(path_, seed, seen_, fds[1]);
    }
    close(fds[1]);
    std::vector<Acknowledgement> acknowledged;
    Acknowledgement one{};
    // Some are killed while they open the file, most while they write.
    const std::uint64_t wanted = random.OneIn(8) ? 0 : random.Below(60);
    while (acknowledged.size() < wanted && read(fds[0], &one, sizeof one) == sizeof one)
      acknowledged.push_back(one);
    SleepFor(std::chrono::microseconds(random.Below(3000)));
    kill(child, SIGKILL);
    while (read(fds[0], &one, sizeof one) == sizeof one) acknowledged.push_back(one);
    close(fds[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);
    return acknowledged;
  }

  // The transactions a watch from the last revision seen brings.
  void ReadOn(Store& store, std::map<Revision, Transacted>* found) {
    RecordingSink sink;
    auto watch = store.WatchPrefix("", seen_, &sink);
    sink.WaitFor(store.CurrentRevision());
    ASSERT_FALSE(sink.error()) << sink.error()->ToString();
    Revision last = seen_;
    for (const Event& event : sink.events()) {
      ASSERT_GE(event.kv.mod_revision, last);
      last = event.kv.mod_revision;
      Transacted& transacted = (*found)[event.kv.mod_revision];
      transacted.serial = std::stoull(*event.kv.value);
      ASSERT_TRUE(transacted.keys.insert(event.kv.key).second);
      state_[event.kv.key] = *event.kv.value;
    }
    for (const Event& event : sink.events()) {
      const Transacted& transacted = found->at(event.kv.mod_revision);
      ASSERT_EQ(*event.kv.value, ValueFor(transacted.serial, transacted.keys)) << "half a transaction";
    }
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "store.db";
  Revision seen_ = 1;
  std::map<std::string, std::string> state_;
};

TEST_F(StoreCrashTest, KilledAtAnyMomentNothingAcknowledgedIsLost) {
  const std::uint64_t seed = Random::System().Next();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  std::size_t total = 0;
  for (int i = 0; i < kKills; ++i) {
    const auto acknowledged = RunAndKill(random);
    total += acknowledged.size();
    ThreadPool executor("test", 1);
    auto store = OpenSqliteStore({.path = path_, .compaction_interval = Duration::zero()}, executor);
    ASSERT_TRUE(store) << store.error().ToString();
    ASSERT_GE((*store)->CurrentRevision(), seen_);

    std::map<Revision, Transacted> found;
    ASSERT_NO_FATAL_FAILURE(ReadOn(**store, &found));
    for (const Acknowledgement& one : acknowledged) {
      ASSERT_GT(one.revision, seen_) << "a revision was given out twice";
      ASSERT_TRUE(found.contains(one.revision)) << "kill " << i << ": acknowledged revision " << one.revision;
      ASSERT_EQ(found[one.revision].serial, one.serial);
    }
    auto range = (*store)->Range("");
    ASSERT_TRUE(range);
    std::map<std::string, std::string> state;
    for (const KeyValue& kv : range->items) state[kv.key] = *kv.value;
    ASSERT_EQ(state, state_);
    seen_ = (*store)->CurrentRevision();
  }
  EXPECT_GT(total, 1000u) << "hardly anything was written between the kills";
  Status checked = CheckStore(path_);
  EXPECT_TRUE(checked) << checked.error().ToString();
}

}  // namespace
}  // namespace flyball::store
