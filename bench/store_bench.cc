// What the store must show: commits per second with their fsyncs, fan-out, recovery, memory per object.
//
//   store_bench [folder]    the folder must be on the disk that is measured; default: the current one
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/notification.h"
#include "base/run/thread.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace flyball::store {
namespace {

constexpr std::size_t kObjects = 100'000;
constexpr std::size_t kValueBytes = 1024;

double Seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
SteadyTime Now() {
  return RealClock().Steady();
}

std::string KeyOf(std::size_t i) {  // 50 bytes, as pods' keys are
  char key[64];
  std::snprintf(key, sizeof key, "/registry/configmaps/namespace-%03zu/object-%08zu", i % 100, i);
  return key;
}

std::string ValueOf(std::size_t i) {
  std::string value;
  value.reserve(kValueBytes);  // what a value has beyond its size would be measured as the store's
  value += "{\"metadata\":{\"name\":\"object-" + std::to_string(i) + "\"},\"data\":\"";
  while (value.size() < kValueBytes - 2) value.push_back(static_cast<char>('a' + (i + value.size()) % 26));
  value += "\"}";
  return value;
}

void Put(Store& store, std::size_t i, UniqueFunction<void(Result<CommitOutcome>)> done) {
  Transaction transaction(1);
  transaction[0].key = KeyOf(i);
  transaction[0].value = MakeBytes(ValueOf(i));
  store.Commit(std::move(transaction), std::move(done));
}

void PutAndWait(Store& store, std::size_t i) {
  Notification<bool> done;
  Put(store, i, [&](Result<CommitOutcome> outcome) { done.Set(outcome && outcome->committed); });
  if (!done.Wait()) std::abort();
}

std::unique_ptr<Store> OpenOrDie(const std::string& path, Executor& executor) {
  auto store = OpenSqliteStore({.path = path}, executor);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message().c_str());
    std::exit(1);
  }
  return std::move(*store);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Each writer waits for its acknowledgement before the next write.
void MeasureWriters(const char* engine, Store& store, int writers, Duration length) {
  std::atomic<bool> stop{false};
  std::vector<std::vector<Duration>> latencies(static_cast<std::size_t>(writers));
  const StoreStats before = store.Stats();
  const SteadyTime start = Now();
  const double cpu = CpuSeconds();
  {
    std::vector<Thread> threads;
    for (int w = 0; w < writers; ++w) {
      threads.emplace_back("writer", [&, w] {
        auto& mine = latencies[static_cast<std::size_t>(w)];
        for (std::size_t i = 0; !stop; ++i) {
          const SteadyTime begin = Now();
          PutAndWait(store, static_cast<std::size_t>(w) * 1000 + i % 1000);
          mine.push_back(Now() - begin);
        }
      });
    }
    SleepFor(length);
    stop = true;
  }
  const double seconds = Seconds(Now() - start);
  const StoreStats after = store.Stats();
  std::vector<Duration> all;
  for (auto& mine : latencies) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  const auto at = [&](double q) {
    return Seconds(all[static_cast<std::size_t>(q * double(all.size() - 1))]) * 1e3;
  };
  std::printf(
      "%-8s %3d writers: %8.0f commits/s  %6.0f fsyncs/s  latency ms p50 %.3f p99 %.3f max %.1f  cpu %.2f\n",
      engine, writers, double(after.commits - before.commits) / seconds,
      double(after.syncs - before.syncs) / seconds, at(0.5), at(0.99), at(1), (CpuSeconds() - cpu) / seconds);
  std::fflush(stdout);
}

// The same while history is compacted all the time, as much as is written.
void MeasureWritersUnderCompaction(Store& store, int writers, Duration length) {
  std::atomic<bool> stop{false};
  Thread compactor("compactor", [&] {
    while (!stop) {
      if (!store.Compact(store.CurrentRevision())) std::abort();
      SleepFor(std::chrono::milliseconds(100));
    }
  });
  MeasureWriters("sqlite", store, writers, length);
  stop = true;
  compactor.Join();
  std::printf("         (compacting at the same time: the file and its log have %.1f MB)\n",
              double(store.Stats().bytes_on_disk) / 1e6);
}

class TimingSink final : public WatchSink {
 public:
  void OnEvents(const std::vector<Event>& events) override {
    count_ += events.size();
    called_ = Now();
  }
  void OnProgress(Revision) override {}
  void OnError(const Error&) override {}
  SteadyTime called() const { return called_; }

 private:
  std::size_t count_ = 0;
  SteadyTime called_{};
};

// From the first sink's call to the last one's. An acknowledgement comes after both.
void MeasureFanOut(const char* engine, Store& store) {
  constexpr int kSinks = 1000, kChanges = 500;
  std::vector<TimingSink> sinks(kSinks);
  std::vector<std::unique_ptr<Watch>> watches;
  for (auto& sink : sinks) watches.push_back(store.WatchPrefix("/registry/configmaps/", 0, &sink));
  std::vector<Duration> spans;
  for (std::size_t i = 0; i < kChanges; ++i) {
    PutAndWait(store, i);
    spans.push_back(sinks.back().called() - sinks.front().called());
  }
  std::nth_element(spans.begin(), spans.begin() + kChanges / 2, spans.end());
  std::printf("%-8s one change to %d watches: %.1f us\n", engine, kSinks, Seconds(spans[kChanges / 2]) * 1e6);
}

std::size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void Fill(Store& store) {
  constexpr std::size_t kInFlight = 1000;
  for (std::size_t first = 0; first < kObjects; first += kInFlight) {
    Notification<bool> batch;
    std::atomic<std::size_t> open{kInFlight};
    for (std::size_t i = first; i < first + kInFlight; ++i)
      Put(store, i, [&](Result<CommitOutcome>) {
        if (--open == 0) batch.Set(true);
      });
    batch.Wait();
  }
}

void MeasureRecovery(const std::string& path) {
  ThreadPool executor("bench", 1);
  const std::size_t before = ResidentBytes();
  const SteadyTime start = Now();
  auto store = OpenOrDie(path, executor);
  const double seconds = Seconds(Now() - start);
  const std::size_t bytes = ResidentBytes() - before;
  std::printf(
      "sqlite   recovery of %zu objects: %.3f s, %.2f KB of memory each (value %zu bytes, key %zu bytes)\n",
      *store->Count(""), seconds, double(bytes) / double(kObjects) / 1024, kValueBytes, KeyOf(0).size());
}

// In a process of its own: memory that was freed by an earlier measurement would hide what this one takes.
template <typename Fn>
void InChild(Fn fn) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    fn();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
}

int Main(int argc, char** argv) {
  const std::filesystem::path folder = std::filesystem::path(argc > 1 ? argv[1] : ".") / "store_bench.tmp";
  const auto fresh = [&] {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    return (folder / "store.db").string();
  };
  using std::chrono::seconds;
  InChild([&] {
    ThreadPool executor("bench", 1);
    auto memory = NewMemoryStore(executor);
    MeasureWriters("memory", *memory, 1, seconds(2));
  });
  InChild([&] {
    ThreadPool executor("bench", 1);
    auto memory = NewMemoryStore(executor);
    MeasureWriters("memory", *memory, 64, seconds(3));
    MeasureFanOut("memory", *memory);
  });
  InChild([&] {
    ThreadPool executor("bench", 1);
    auto sqlite = OpenOrDie(fresh(), executor);
    MeasureWriters("sqlite", *sqlite, 1, seconds(3));
    MeasureWriters("sqlite", *sqlite, 64, seconds(6));
    MeasureFanOut("sqlite", *sqlite);
    MeasureWritersUnderCompaction(*sqlite, 64, seconds(6));
  });
  const std::string path = fresh();
  InChild([&] {
    ThreadPool executor("bench", 1);
    auto store = OpenOrDie(path, executor);
    const std::size_t before = ResidentBytes();
    Fill(*store);
    std::printf("sqlite   after writing %zu objects: %.2f KB of memory each, %.2f KB on disk\n", kObjects,
                double(ResidentBytes() - before) / double(kObjects) / 1024,
                double(store->Stats().bytes_on_disk) / double(kObjects) / 1024);
  });
  InChild([&] { MeasureRecovery(path); });
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace flyball::store

int main(int argc, char** argv) {
  return flyball::store::Main(argc, argv);
}
