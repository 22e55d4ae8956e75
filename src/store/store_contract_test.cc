// What every engine promises. A new engine adds itself to Engines() below.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <set>

#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/sim_executor.h"
#include "base/run/thread.h"
#include "store/etcd/etcd_store.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/etcd_server.h"
#include "store/testing/reversing_transformer.h"
#include "store/testing/store_testing.h"
#include "store/transform/transforming_store.h"

namespace flyball::store {
namespace {

struct Engine {
  std::string name;
  bool survives_restart;
  std::function<std::unique_ptr<Store>(const TempFolder&, Executor&)> open;
  bool virtual_time = true;  // times to live follow the executor's clock
  // What has to run beside the store; null: nothing.
  std::function<std::shared_ptr<void>(const TempFolder&)> start{};
};

void PrintTo(const Engine& engine, std::ostream* out) {
  *out << engine.name;
}

std::unique_ptr<Store> MustOpen(Result<std::unique_ptr<Store>> store) {
  if (store) return std::move(*store);
  ADD_FAILURE() << store.error().ToString();
  return nullptr;
}

std::vector<Engine> Engines() {
  std::vector<Engine> engines = {
      {"memory", false, [](const TempFolder&, Executor& executor) { return NewMemoryStore(executor); }},
      {"sqlite", true,
       [](const TempFolder& folder, Executor& executor) {
         return MustOpen(OpenSqliteStore({.path = folder / "store.db"}, executor));
       }},
      {"transformed", false, [](const TempFolder&, Executor& executor) {
         static const ReversingTransformer kEverything("");
         return NewTransformingStore(NewMemoryStore(executor), kEverything);
       }}};
  if (EtcdServer::Available())
    engines.push_back({"etcd", true,
                       [](const TempFolder& folder, Executor& executor) {
                         return MustOpen(OpenEtcdStore({.endpoints = {EtcdServer::UrlIn(folder)}}, executor));
                       },
                       false,
                       [](const TempFolder& folder) -> std::shared_ptr<void> {
                         return std::make_shared<EtcdServer>(folder);
                       }});
  return engines;
}

class StoreContract : public testing::TestWithParam<Engine> {
 protected:
  StoreContract() {
    if (GetParam().start) beside_ = GetParam().start(folder_);
    Open();
  }
  void Open() {
    store_.reset();
    store_ = GetParam().open(folder_, executor_);
    ASSERT_TRUE(store_);
  }
  Revision MustPut(const std::string& key, const std::string& value, Precondition p = {}) {
    auto outcome = PutNow(*store_, key, value, p);
    EXPECT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_TRUE(outcome->committed);
    return outcome->revision;
  }
  std::string ValueOf(const std::string& key) {
    auto kv = store_->Get(key);
    return kv && *kv ? *(*kv)->value : "(absent)";
  }
  // "key=value@mod_revision" of every item.
  static std::vector<std::string> Show(const Result<RangeResult>& range) {
    std::vector<std::string> shown;
    if (!range) return {range.error().ToString()};
    for (const KeyValue& kv : range->items)
      shown.push_back(kv.key + "=" + *kv.value + "@" + std::to_string(kv.mod_revision));
    return shown;
  }

  TempFolder folder_;
  std::shared_ptr<void> beside_;
  ThreadPool executor_{"test", 1};
  std::unique_ptr<Store> store_;
};

using Strings = std::vector<std::string>;

TEST_P(StoreContract, EmptyStoreHasRevisionOne) {
  EXPECT_EQ(store_->CurrentRevision(), 1);
  EXPECT_EQ(store_->CompactedRevision(), 0);
  EXPECT_FALSE(*store_->Get("a"));
  auto range = store_->Range("");
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->items.empty());
  EXPECT_EQ(range->revision, 1);
  EXPECT_TRUE(store_->Health());
}

TEST_P(StoreContract, PutGetDelete) {
  EXPECT_EQ(MustPut("a", "1"), 2);
  EXPECT_EQ(MustPut("a", "2"), 3);
  EXPECT_EQ(store_->CurrentRevision(), 3);
  auto kv = store_->Get("a");
  ASSERT_TRUE(kv && *kv);
  EXPECT_EQ(*(*kv)->value, "2");
  EXPECT_EQ((*kv)->create_revision, 2);
  EXPECT_EQ((*kv)->mod_revision, 3);

  auto outcome = DeleteNow(*store_, "a");
  ASSERT_TRUE(outcome && outcome->committed);
  EXPECT_EQ(outcome->revision, 4);
  ASSERT_TRUE(outcome->previous.at(0));
  EXPECT_EQ(*outcome->previous[0]->value, "2");
  EXPECT_FALSE(*store_->Get("a"));
  EXPECT_EQ(MustPut("a", "3"), 5);
  EXPECT_EQ((*store_->Get("a"))->create_revision, 5);
}

TEST_P(StoreContract, AnEmptyValueIsNotADeletion) {
  MustPut("a", "");
  EXPECT_EQ(ValueOf("a"), "");
}

TEST_P(StoreContract, DeletingWhatIsNotThereChangesNothing) {
  auto outcome = DeleteNow(*store_, "a");
  ASSERT_TRUE(outcome && outcome->committed);
  EXPECT_EQ(outcome->revision, 1);
  EXPECT_EQ(store_->CurrentRevision(), 1);
}

TEST_P(StoreContract, Preconditions) {
  const Revision r = MustPut("a", "1", Precondition::Absent());
  auto outcome = PutNow(*store_, "a", "2", Precondition::Absent());
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->committed);
  EXPECT_EQ(outcome->revision, r);
  ASSERT_TRUE(outcome->current);
  EXPECT_EQ(*outcome->current->value, "1");
  EXPECT_EQ(outcome->current->mod_revision, r);

  EXPECT_FALSE(PutNow(*store_, "a", "2", Precondition::ModRevision(r + 1))->committed);
  EXPECT_TRUE(PutNow(*store_, "a", "2", Precondition::ModRevision(r))->committed);
  EXPECT_FALSE(DeleteNow(*store_, "a", Precondition::ModRevision(r))->committed);
  EXPECT_TRUE(PutNow(*store_, "a", "3", Precondition::Present())->committed);
  EXPECT_FALSE(PutNow(*store_, "b", "3", Precondition::Present())->committed);
  outcome = DeleteNow(*store_, "b", Precondition::Present());
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->committed);
  EXPECT_FALSE(outcome->current);
  EXPECT_EQ(ValueOf("a"), "3");
}

TEST_P(StoreContract, TransactionsHappenWhollyOrNotAtAll) {
  const Revision r = MustPut("b", "0");
  auto outcome =
      CommitNow(*store_, {Put("a", "1"), Put("b", "1", Precondition::ModRevision(r)), Delete("c")});
  ASSERT_TRUE(outcome && outcome->committed);
  EXPECT_EQ(outcome->revision, r + 1);
  ASSERT_EQ(outcome->previous.size(), 3u);
  EXPECT_FALSE(outcome->previous[0]);
  EXPECT_EQ(*outcome->previous[1]->value, "0");

  outcome = CommitNow(*store_, {Put("a", "2"), Put("b", "2", Precondition::Absent())});
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->committed);
  EXPECT_EQ(outcome->failed_operation, 1u);
  EXPECT_EQ(ValueOf("a"), "1");
  EXPECT_EQ((*store_->Get("a"))->mod_revision, (*store_->Get("b"))->mod_revision);
}

TEST_P(StoreContract, RefusesSenselessTransactions) {
  EXPECT_TRUE(CommitNow(*store_, {}).error().Is(Reason::kBadRequest));
  EXPECT_TRUE(PutNow(*store_, "", "1").error().Is(Reason::kBadRequest));
  EXPECT_TRUE(CommitNow(*store_, {Put("a", "1"), Delete("a")}).error().Is(Reason::kBadRequest));
  EXPECT_EQ(store_->CurrentRevision(), 1);
}

TEST_P(StoreContract, RangeByPrefixStartAndLimit) {
  for (const char* key : {"/b/2", "/a/1", "/b/1", "/b/3", "/c", "/b"}) MustPut(key, key);
  EXPECT_EQ(Show(store_->Range("/b/")), (Strings{"/b/1=/b/1@4", "/b/2=/b/2@2", "/b/3=/b/3@5"}));
  EXPECT_EQ(*store_->Count("/b/"), 3u);
  EXPECT_EQ(*store_->Count(""), 6u);
  auto range = store_->Range("/b/", {.start = "/b/2", .limit = 1});
  ASSERT_TRUE(range);
  EXPECT_EQ(Show(range), (Strings{"/b/2=/b/2@2"}));
  EXPECT_TRUE(range->more);
  EXPECT_EQ(range->remaining, 1u);
  EXPECT_EQ(range->revision, 7);
  range = store_->Range("/b/", {.start = "/b/3", .limit = 5});
  EXPECT_FALSE(range->more);
  EXPECT_EQ(range->items.size(), 1u);
  EXPECT_TRUE(store_->Range("/d")->items.empty());
  EXPECT_EQ(store_->Range("")->items.size(), 6u);
  EXPECT_TRUE(store_->Range("/b/", {.start = "/c"})->items.empty());
}

TEST_P(StoreContract, RangeAtAPastRevision) {
  const Revision r1 = MustPut("/a", "1");
  const Revision r2 = MustPut("/b", "1");
  const Revision r3 = MustPut("/a", "2");
  ASSERT_TRUE(DeleteNow(*store_, "/b"));
  MustPut("/c", "1");
  EXPECT_EQ(Show(store_->Range("/", {.revision = 1})), Strings{});
  EXPECT_EQ(Show(store_->Range("/", {.revision = r1})), (Strings{"/a=1@2"}));
  EXPECT_EQ(Show(store_->Range("/", {.revision = r2})), (Strings{"/a=1@2", "/b=1@3"}));
  EXPECT_EQ(Show(store_->Range("/", {.revision = r3})), (Strings{"/a=2@4", "/b=1@3"}));
  auto limited = store_->Range("/", {.limit = 1, .revision = r3});
  ASSERT_TRUE(limited);
  EXPECT_TRUE(limited->more);
  EXPECT_EQ(limited->remaining, 1u);
  EXPECT_EQ(limited->revision, r3);
  EXPECT_EQ(Show(store_->Range("/", {.start = "/b", .revision = r3})), (Strings{"/b=1@3"}));
  EXPECT_TRUE(store_->Range("/", {.revision = 99}).error().Is(Reason::kTimeout));
}

TEST_P(StoreContract, WatchSeesEveryChangeWithItsPrevious) {
  MustPut("/x/a", "0");
  RecordingSink sink;
  auto watch = store_->WatchPrefix("/x/", 0, &sink);
  MustPut("/x/a", "1");
  MustPut("/y/a", "1");
  MustPut("/x/b", "1");
  ASSERT_TRUE(DeleteNow(*store_, "/x/a"));
  sink.WaitForEvents(3);
  const auto events = sink.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kv.key, "/x/a");
  EXPECT_EQ(*events[0].kv.value, "1");
  EXPECT_EQ(events[0].kv.mod_revision, 3);
  EXPECT_EQ(events[0].kv.create_revision, 2);
  ASSERT_TRUE(events[0].previous);
  EXPECT_EQ(*events[0].previous->value, "0");
  EXPECT_FALSE(events[1].previous);
  EXPECT_EQ(events[2].type, Event::Type::kDelete);
  EXPECT_EQ(events[2].kv.value, nullptr);
  EXPECT_EQ(events[2].kv.mod_revision, 6);
  EXPECT_EQ(*events[2].previous->value, "1");
}

TEST_P(StoreContract, AcknowledgementComesAfterTheWatches) {
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", 0, &sink);
  for (int i = 0; i < 20; ++i) {
    const Revision r = MustPut("a", std::to_string(i));
    ASSERT_EQ(sink.events().back().kv.mod_revision, r);
    ASSERT_GE(store_->CurrentRevision(), r);
  }
}

TEST_P(StoreContract, WatchFromEveryRevision) {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const std::string key = "/k/" + std::to_string(random.Below(20));
    if (random.OneIn(4))
      ASSERT_TRUE(DeleteNow(*store_, key));
    else if (random.OneIn(5))
      ASSERT_TRUE(CommitNow(*store_, {Put(key, "t" + std::to_string(i)), Put("/k/t", std::to_string(i))}));
    else
      MustPut(key, std::to_string(i));
  }
  const Revision last = store_->CurrentRevision();
  RecordingSink all;
  auto watch_all = store_->WatchPrefix("", 1, &all);
  all.WaitFor(last);
  const auto expected = all.events();
  for (Revision after = 1; after <= last; ++after) {
    RecordingSink sink;
    auto watch = store_->WatchPrefix("/k/", after, &sink);
    sink.WaitFor(last);
    Strings want, got;
    for (const Event& e : expected)
      if (e.kv.mod_revision > after) want.push_back(e.kv.key + std::to_string(e.kv.mod_revision));
    for (const Event& e : sink.events()) got.push_back(e.kv.key + std::to_string(e.kv.mod_revision));
    ASSERT_EQ(got, want) << "after " << after;
  }
}

// Replaying a watch over the state at its beginning gives the state at its end.
TEST_P(StoreContract, RangeInThePastAgreesWithTheWatch) {
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    const std::string key = "/k/" + std::to_string(random.Below(30));
    ASSERT_TRUE(random.OneIn(3) ? DeleteNow(*store_, key) : PutNow(*store_, key, std::to_string(i)));
  }
  RecordingSink sink;
  auto watch = store_->WatchPrefix("/k/", 1, &sink);
  sink.WaitFor(store_->CurrentRevision());
  std::map<std::string, std::string> state;
  for (const Event& e : sink.events()) {
    if (e.type == Event::Type::kPut)
      state[e.kv.key] = *e.kv.value + "@" + std::to_string(e.kv.mod_revision);
    else
      state.erase(e.kv.key);
    Strings want;
    for (const auto& [key, value] : state) want.push_back(key + "=" + value);
    ASSERT_EQ(Show(store_->Range("/k/", {.revision = e.kv.mod_revision})), want);
  }
}

TEST_P(StoreContract, AnEndedWatchIsNotCalled) {
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", 0, &sink);
  MustPut("a", "1");
  sink.WaitForEvents(1);
  watch.reset();
  MustPut("a", "2");
  EXPECT_EQ(sink.events().size(), 1u);
}

TEST_P(StoreContract, Compaction) {
  MustPut("a", "1");
  MustPut("b", "1");
  ASSERT_TRUE(DeleteNow(*store_, "b"));
  const Revision r = MustPut("a", "2");
  MustPut("a", "3");
  ASSERT_TRUE(store_->Compact(r));
  EXPECT_EQ(store_->CompactedRevision(), r);
  EXPECT_TRUE(store_->Range("", {.revision = r - 1}).error().Is(Reason::kExpired));
  EXPECT_EQ(Show(store_->Range("", {.revision = r})), (Strings{"a=2@5"}));
  EXPECT_EQ(Show(store_->Range("")), (Strings{"a=3@6"}));
  RecordingSink old, fresh;
  auto old_watch = store_->WatchPrefix("", r - 1, &old);
  EXPECT_TRUE(old.WaitForError()->Is(Reason::kExpired));
  auto fresh_watch = store_->WatchPrefix("", r, &fresh);
  fresh.WaitFor(r + 1);
  ASSERT_EQ(fresh.events().size(), 1u);
  EXPECT_EQ(*fresh.events()[0].previous->value, "2");
  EXPECT_TRUE(store_->Compact(r - 1));
  EXPECT_EQ(store_->CompactedRevision(), r);
  EXPECT_FALSE(store_->Compact(r + 10));
}

TEST_P(StoreContract, ConcurrentWritersEachGetTheirOwnRevision) {
  constexpr int kThreads = 8, kWrites = 100;
  Mutex mu;
  std::set<Revision> revisions;
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", 1, &sink);
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("writer", [&, t] {
        for (int i = 0; i < kWrites; ++i) {
          auto outcome = PutNow(*store_, "/w/" + std::to_string(t), std::to_string(i));
          ASSERT_TRUE(outcome && outcome->committed);
          MutexLock lock(mu);
          ASSERT_TRUE(revisions.insert(outcome->revision).second);
        }
      });
    }
  }
  EXPECT_EQ(store_->CurrentRevision(), 1 + kThreads * kWrites);
  sink.WaitForEvents(kThreads * kWrites);
  Revision last = 1;
  for (const Event& event : sink.events()) ASSERT_EQ(event.kv.mod_revision, ++last);
}

// Compare-and-swap increments by many threads lose nothing.
TEST_P(StoreContract, ConcurrentIncrementsAddUp) {
  constexpr int kThreads = 8, kIncrements = 50;
  MustPut("n", "0");
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("writer", [&] {
        for (int i = 0; i < kIncrements;) {
          const auto kv = **store_->Get("n");
          auto outcome = PutNow(*store_, "n", std::to_string(std::stoi(*kv.value) + 1),
                                Precondition::ModRevision(kv.mod_revision));
          ASSERT_TRUE(outcome);
          if (outcome->committed) ++i;
        }
      });
    }
  }
  EXPECT_EQ(ValueOf("n"), std::to_string(kThreads * kIncrements));
}

// Readers, watches that begin anywhere and writers, while history disappears under them: each answer is
// right, or says that the revision has been compacted.
TEST_P(StoreContract, CompactionRaces) {
  constexpr int kWrites = 400;
  std::atomic<bool> stop{false};
  std::atomic<int> right{0};
  ASSERT_TRUE(CommitNow(*store_, {Put("/p/a", "first"), Put("/p/b", "first")}));
  {
    std::vector<Thread> threads;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      threads.emplace_back("reader", [&, seed] {
        Random random(seed);
        while (!stop) {
          const Revision now = store_->CurrentRevision();
          const Revision at = std::max<Revision>(2, now - static_cast<Revision>(random.Below(10)));
          auto range = store_->Range("/p/", {.revision = at});
          if (!range) {
            ASSERT_TRUE(range.error().Is(Reason::kExpired)) << range.error().ToString();
            continue;
          }
          ASSERT_EQ(range->items.size(), 2u) << "at " << at;
          ASSERT_EQ(*range->items[0].value, *range->items[1].value) << "at " << at;
          ASSERT_LE(range->items[0].mod_revision, at);
          ++right;
        }
      });
    }
    threads.emplace_back("watcher", [&] {
      Random random(3);
      while (!stop) {
        const Revision now = store_->CurrentRevision();
        const Revision after = std::max<Revision>(1, now - static_cast<Revision>(random.Below(10)));
        RecordingSink sink;
        auto watch = store_->WatchPrefix("", after, &sink);
        sink.WaitFor(now);
        if (sink.error()) {
          ASSERT_TRUE(sink.error()->Is(Reason::kExpired));
          continue;
        }
        watch.reset();
        Revision last = after;
        for (const Event& event : sink.events()) {
          ASSERT_TRUE(event.kv.mod_revision == last + 1 || event.kv.mod_revision == last)
              << "a gap or a duplicate";
          last = event.kv.mod_revision;
        }
      }
    });
    Random random(4);
    for (int i = 0; i < kWrites || (right < 10 && i < 10 * kWrites); ++i) {
      const std::string value = std::to_string(i);
      ASSERT_TRUE(CommitNow(*store_, {Put("/p/a", value), Put("/p/b", value)}));
      ASSERT_TRUE(
          store_->Compact(random.OneIn(3) ? std::max<Revision>(1, store_->CurrentRevision() - 3) : 1));
    }
    stop = true;
  }
  EXPECT_GT(right, 0);
}

// A sink may commit: that happens after the delivery it is called from, and everyone sees both in order.
TEST_P(StoreContract, SinksMayCommit) {
  class Echo final : public WatchSink {
   public:
    explicit Echo(Store& store) : store_(store) {}
    void OnEvents(const std::vector<Event>& events) override {
      for (const Event& event : events) {
        Transaction transaction;
        transaction.push_back(Put("/out/" + event.kv.key.substr(4), *event.kv.value));
        store_.Commit(std::move(transaction), [](Result<CommitOutcome>) {});
      }
    }
    void OnProgress(Revision) override {}
    void OnError(const Error&) override {}

   private:
    Store& store_;
  };
  Echo echo(*store_);
  RecordingSink sink;
  auto echo_watch = store_->WatchPrefix("/in/", 0, &echo);
  auto watch = store_->WatchPrefix("", 0, &sink);
  for (int i = 0; i < 10; ++i) MustPut("/in/" + std::to_string(i), std::to_string(i));
  sink.WaitForEvents(20);
  Revision last = 1;
  for (const Event& event : sink.events()) EXPECT_EQ(event.kv.mod_revision, ++last);
  EXPECT_EQ(*store_->Count("/out/"), 10u);
}

TEST_P(StoreContract, AWatchMayEndItselfFromItsSink) {
  class Once final : public WatchSink {
   public:
    void OnEvents(const std::vector<Event>&) override {
      ++calls;
      watch.reset();
    }
    void OnProgress(Revision) override {}
    void OnError(const Error&) override {}
    std::unique_ptr<Watch> watch;
    std::atomic<int> calls{0};
  };
  Once once;
  once.watch = store_->WatchPrefix("", 0, &once);
  MustPut("a", "1");
  MustPut("a", "2");
  EXPECT_EQ(once.calls, 1);
  EXPECT_EQ(once.watch, nullptr);
}

TEST_P(StoreContract, AWatchFromTheFutureWaitsForIt) {
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", 3, &sink);
  for (int i = 0; i < 4; ++i) MustPut("a", std::to_string(i));
  sink.WaitForEvents(2);
  EXPECT_EQ(sink.events().at(0).kv.mod_revision, 4);
}

TEST_P(StoreContract, TimeToLive) {
  if (!GetParam().virtual_time) GTEST_SKIP() << "real time is tested with the engine";
  SimExecutor sim(1);
  TempFolder folder;
  auto store = GetParam().open(folder, sim);
  RecordingSink sink;
  auto watch = store->WatchPrefix("", 0, &sink);
  ASSERT_TRUE(PutNow(*store, "a", "1", {}, std::chrono::minutes(1)));
  ASSERT_TRUE(PutNow(*store, "b", "1", {}, std::chrono::minutes(1)));
  ASSERT_TRUE(PutNow(*store, "c", "1", {}, std::chrono::minutes(3)));
  sim.RunFor(std::chrono::seconds(30));
  ASSERT_TRUE(PutNow(*store, "b", "2", {}, std::chrono::minutes(1)));
  sim.RunFor(std::chrono::seconds(29));
  EXPECT_TRUE(*store->Get("a"));
  sim.RunFor(std::chrono::seconds(2));
  sink.WaitForEvents(5);
  EXPECT_FALSE(*store->Get("a"));
  EXPECT_TRUE(*store->Get("b"));
  sim.RunFor(std::chrono::seconds(30));
  sink.WaitForEvents(6);
  EXPECT_FALSE(*store->Get("b"));
  sim.RunFor(std::chrono::minutes(2));
  sink.WaitForEvents(7);
  EXPECT_EQ(*store->Count(""), 0u);
  EXPECT_EQ(sink.events().back().type, Event::Type::kDelete);
}

// Engines may keep such values elsewhere than others.
TEST_P(StoreContract, ValuesThatExpireAreReadAsOthersAre) {
  ASSERT_TRUE(PutNow(*store_, "/a/1", "first", {}, std::chrono::hours(1)));
  const Revision before = store_->CurrentRevision();
  ASSERT_TRUE(PutNow(*store_, "/a/1", "second", Precondition::Present(), std::chrono::hours(1)));
  EXPECT_FALSE(PutNow(*store_, "/a/1", "third", Precondition::Absent())->committed);
  EXPECT_FALSE(PutNow(*store_, "/a/1", "third", Precondition::ModRevision(before))->committed);
  MustPut("/a/2", "for ever");
  const auto check = [&] {
    const auto one = store_->Get("/a/1");
    ASSERT_TRUE(one && *one);
    EXPECT_EQ(*(*one)->value, "second");
    const auto range = store_->Range("/a/");
    ASSERT_TRUE(range);
    ASSERT_EQ(range->items.size(), 2u);
    EXPECT_EQ(*range->items[0].value, "second");
    EXPECT_EQ(*range->items[1].value, "for ever");
    const auto past = store_->Range("/a/", {.revision = before});
    ASSERT_TRUE(past);
    ASSERT_EQ(past->items.size(), 1u);
    EXPECT_EQ(*past->items[0].value, "first");
  };
  check();
  if (!GetParam().survives_restart) return;
  Open();
  check();
}

TEST_P(StoreContract, ManyKeys) {
  for (int i = 0; i < 30; ++i) {
    Transaction transaction;
    for (int k = 0; k < 100; ++k) transaction.push_back(Put("/m/" + std::to_string(k * 30 + i), "v"));
    ASSERT_TRUE(CommitNow(*store_, std::move(transaction)));
  }
  EXPECT_EQ(*store_->Count("/m/"), 3000u);
  // Page through it at one revision while the keys change.
  const Revision revision = store_->CurrentRevision();
  std::set<std::string> seen;
  for (std::string start;;) {
    auto page = store_->Range("/m/", {.start = start, .limit = 700, .revision = revision});
    ASSERT_TRUE(page) << page.error().ToString();
    for (const KeyValue& kv : page->items) ASSERT_TRUE(seen.insert(kv.key).second);
    ASSERT_EQ(page->remaining, 3000 - seen.size());
    if (!page->more) break;
    start = page->items.back().key + std::string(1, '\0');
    ASSERT_TRUE(DeleteNow(*store_, page->items.front().key));
    MustPut("/m/new" + std::to_string(seen.size()), "v");
  }
  EXPECT_EQ(seen.size(), 3000u);
}

TEST_P(StoreContract, SurvivesARestart) {
  if (!GetParam().survives_restart) GTEST_SKIP() << "the engine is volatile";
  MustPut("a", "1");
  MustPut("b", "1");
  const Revision r = MustPut("a", "2");
  const Revision last = DeleteNow(*store_, "b")->revision;
  Open();
  EXPECT_EQ(store_->CurrentRevision(), last);
  EXPECT_EQ(Show(store_->Range("")), (Strings{"a=2@4"}));
  EXPECT_EQ((*store_->Get("a"))->create_revision, 2);
  EXPECT_EQ(Show(store_->Range("", {.revision = r})), (Strings{"a=2@4", "b=1@3"}));
  RecordingSink sink;
  auto watch = store_->WatchPrefix("", r, &sink);
  EXPECT_EQ(MustPut("c", "1"), last + 1);
  sink.WaitFor(last + 1);
  EXPECT_EQ(sink.events().size(), 2u);
}

TEST_P(StoreContract, RevisionsAreNotReusedAfterCompactionAndRestart) {
  if (!GetParam().survives_restart) GTEST_SKIP() << "the engine is volatile";
  MustPut("a", "1");
  const Revision last = DeleteNow(*store_, "a")->revision;
  ASSERT_TRUE(store_->Compact(last));
  Open();
  Open();
  EXPECT_EQ(store_->CurrentRevision(), last);
  EXPECT_EQ(MustPut("a", "2"), last + 1);
  EXPECT_EQ((*store_->Get("a"))->create_revision, last + 1);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreContract, testing::ValuesIn(Engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace flyball::store
