// The hot paths of the SDK, shaped like the benchmarks of client-go they are compared with
// (docs/performance.md).
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>

#include "api/types/meta.h"
#include "base/run/executor.h"
#include "base/run/thread.h"
#include "controller/queue/work_queue.h"
#include "informer/delta_queue.h"
#include "informer/object_store.h"

namespace flyball {

// The smallest kind: what the store does with an object does not depend on what else is in it.
struct Thing {
  ObjectMeta metadata;
};
Status FromJson(const json::Value&, Thing*) {
  return {};
}
template <>
struct KindTraits<Thing> {
  static constexpr std::string_view group = "bench", version = "v1", kind = "Thing", plural = "things";
  static constexpr bool namespaced = true;
};

namespace {

std::vector<std::string> Keys(std::size_t n) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < n; ++i)
    keys.push_back("namespace-" + std::to_string(i % 100) + "/object-" + std::to_string(i));
  return keys;
}

std::vector<std::shared_ptr<const Thing>> Objects(std::size_t n) {
  std::vector<std::shared_ptr<const Thing>> objects;
  for (std::size_t i = 0; i < n; ++i) {
    Thing object;
    object.metadata.namespace_ = "namespace-" + std::to_string(i % 100);
    object.metadata.name = "object-" + std::to_string(i);
    objects.push_back(std::make_shared<const Thing>(std::move(object)));
  }
  return objects;
}

void WorkQueueAddGetDone(benchmark::State& state) {
  state.SetLabel("goal 90 ns; client-go 180-220 ns");
  ThreadPool pool("timers", 1);
  WorkQueue<std::string> queue(pool);
  const auto keys = Keys(1000);
  std::size_t i = 0;
  for (auto _ : state) {
    queue.Add(keys[i]);
    const auto key = queue.TryGet();
    queue.Done(*key);
    i = i == 999 ? 0 : i + 1;
  }
}
BENCHMARK(WorkQueueAddGetDone);

void WorkQueueAddGetDoneSameKey(benchmark::State& state) {
  ThreadPool pool("timers", 1);
  WorkQueue<std::string> queue(pool);
  const std::string key = "namespace-1/object-1";
  for (auto _ : state) {
    queue.Add(key);
    benchmark::DoNotOptimize(queue.TryGet());
    queue.Done(key);
  }
}
BENCHMARK(WorkQueueAddGetDoneSameKey);

void WorkQueueAddDuplicate(benchmark::State& state) {
  state.SetLabel("goal 15 ns; client-go 28-30 ns");
  ThreadPool pool("timers", 1);
  WorkQueue<std::string> queue(pool);
  const std::string key = "namespace-1/object-1";
  queue.Add(key);
  for (auto _ : state) queue.Add(key);
}
BENCHMARK(WorkQueueAddDuplicate);

// A million distinct keys through four producers and four workers; time a key.
void WorkQueueMillionKeys(benchmark::State& state) {
  state.SetLabel("ns_per_key: goal 380; client-go 750");
  constexpr std::size_t kKeys = 1'000'000;
  const auto keys = Keys(kKeys);
  for (auto _ : state) {
    state.PauseTiming();
    ThreadPool pool("timers", 1);
    auto made = std::make_unique<WorkQueue<std::string>>(pool);
    WorkQueue<std::string>& queue = *made;
    std::atomic<std::size_t> done = 0;
    state.ResumeTiming();
    std::vector<Thread> workers, producers;
    for (int w = 0; w < 4; ++w)
      workers.emplace_back("worker", [&] {
        while (auto key = queue.Get()) {
          queue.Done(*key);
          ++done;
        }
      });
    for (std::size_t p = 0; p < 4; ++p)
      producers.emplace_back("producer", [&, p] {
        for (std::size_t i = p; i < kKeys; i += 4) queue.Add(keys[i]);
      });
    producers.clear();
    queue.ShutDown();
    workers.clear();
    state.PauseTiming();
    made.reset();
    state.ResumeTiming();
    if (done != kKeys) state.SkipWithError("keys were lost");
  }
  state.counters["ns_per_key"] =
      benchmark::Counter(static_cast<double>(kKeys) * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(WorkQueueMillionKeys)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

// Adding to an index of 100,000 objects (replacing, as updates do).
void IndexerUpdate(benchmark::State& state) {
  Indexer<Thing> indexer;
  const auto objects = Objects(100'000);
  for (const auto& object : objects) indexer.Put(object);
  std::size_t i = 0;
  for (auto _ : state) {
    indexer.Put(objects[i]);
    i = i + 1 == objects.size() ? 0 : i + 1;
  }
}
BENCHMARK(IndexerUpdate);

// Filling an empty one.
void IndexerAdd(benchmark::State& state) {
  const auto objects = Objects(100'000);
  for (auto _ : state) {
    state.PauseTiming();
    auto indexer = std::make_unique<Indexer<Thing>>();
    state.ResumeTiming();
    for (const auto& object : objects) indexer->Put(object);
    state.PauseTiming();
    indexer.reset();
    state.ResumeTiming();
  }
  state.SetLabel("ns_per_object: goal 330; client-go 700");
  state.counters["ns_per_object"] =
      benchmark::Counter(static_cast<double>(objects.size()) * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(IndexerAdd)->Unit(benchmark::kMillisecond);

void IndexerGetByKey(benchmark::State& state) {
  state.SetLabel("goal 30 ns; client-go 48-66 ns");
  Indexer<Thing> indexer;
  for (const auto& object : Objects(100'000)) indexer.Put(object);
  const std::string key = "namespace-42/object-4242";
  for (auto _ : state) benchmark::DoNotOptimize(indexer.GetByKey(key));
}
BENCHMARK(IndexerGetByKey);

void IndexerGetByNames(benchmark::State& state) {
  Indexer<Thing> indexer;
  for (const auto& object : Objects(100'000)) indexer.Put(object);
  const auto keys = Objects(1000);
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(indexer.Get(keys[i]->metadata.namespace_, keys[i]->metadata.name));
    i = i == 999 ? 0 : i + 1;
  }
}
BENCHMARK(IndexerGetByNames);

void IndexerListNamespace(benchmark::State& state) {
  Indexer<Thing> indexer;
  for (const auto& object : Objects(100'000)) indexer.Put(object);
  for (auto _ : state) benchmark::DoNotOptimize(indexer.ListNamespace("namespace-42"));
  state.SetItemsProcessed(1000 * state.iterations());
}
BENCHMARK(IndexerListNamespace);

void DeltaQueueUpdatePop(benchmark::State& state) {
  state.SetLabel("goal 300 ns; client-go 650 ns");
  DeltaQueue queue([] {});
  const auto keys = Keys(1000);
  const auto objects = Objects(1000);
  std::size_t i = 0;
  for (auto _ : state) {
    queue.Update(keys[i], objects[i]);
    benchmark::DoNotOptimize(queue.TakeBatch());
    queue.Processed();
    i = i == 999 ? 0 : i + 1;
  }
}
BENCHMARK(DeltaQueueUpdatePop);

}  // namespace
}  // namespace flyball
