// WorkQueue<Key>: keys waiting to be reconciled (upstream: client-go util/workqueue).
//
// Guarantees: a key waits at most once. A key is never given to two workers at a time. A key that is added
// while a worker has it runs again after that worker's Done. Higher priorities go first, but one in kFairness
// takes goes to the lowest waiting priority, so that nothing starves. Within a priority, keys are first in,
// first out.
//
// Nobody has to block: TryGet takes a key if there is one, and the ready callback says when to try. Get
// blocks, for code that uses its own threads.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/light_mutex.h"
#include "base/run/mutex.h"
#include "base/values/unique_function.h"
#include "controller/queue/key_table.h"
#include "controller/queue/queue_metrics.h"
#include "controller/queue/rate_limiter.h"

namespace flyball {

struct WorkQueueOptions {
  std::string name{};          // label of the metrics
  Metrics* metrics = nullptr;  // null: none
  RateLimits limits{};
};

// Thread-safe. May be destroyed while timers of delayed adds are pending, but not while someone is in Get.
template <typename Key, typename Hash = KeyHash<Key>>
class WorkQueue {
 public:
  explicit WorkQueue(Executor& executor, WorkQueueOptions options = {})
      : state_(std::make_shared<State>(executor, options)) {
    if (options.metrics)
      state_->refresh = options.metrics->BeforeReading([weak = std::weak_ptr<State>(state_)] {
        if (const auto state = weak.lock()) state->RefreshMetrics();
      });
  }
  ~WorkQueue() { ShutDown(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Called, outside any lock, whenever a key has become ready to take. Set before the first Add.
  void OnReady(Closure fn) { state_->ready = std::move(fn); }

  // Adds the key. If it already waits, only a higher priority has an effect.
  void Add(const Key& key, Priority priority = Priority::kNormal) { state_->Add(key, priority); }
  // Adds the key after `delay`. If several delays are pending for one key, the earliest counts.
  void AddAfter(const Key& key, Duration delay, Priority priority = Priority::kNormal) {
    if (delay <= Duration::zero()) return Add(key, priority);
    state_->AddAfter(state_, key, delay, priority);
  }
  // Adds the key after the time that the rate limiter returns, which grows with each call until Forget.
  void AddRateLimited(const Key& key, Priority priority = Priority::kNormal) {
    state_->metrics.Retry();
    AddAfter(key, state_->limiter.When(key), priority);
  }
  // The key succeeded: its next failure waits the shortest time again.
  void Forget(const Key& key) { state_->limiter.Forget(key); }
  int Failures(const Key& key) const { return state_->limiter.Failures(key); }

  // Returns the next key, or nothing. The caller must call Done with it.
  std::optional<Key> TryGet() { return state_->TryGet(); }
  // Blocks until there is a key; returns nothing once the queue is shut down and empty.
  std::optional<Key> Get() { return state_->Get(); }
  void Done(const Key& key) { state_->Done(key); }

  // The number of waiting keys, not counting delayed keys and keys being processed.
  std::size_t size() const { return state_->size(); }
  std::size_t processing() const { return state_->processing_count(); }
  // How long the oldest key has waited; zero if none waits. Requires metrics, because keys are not stamped
  // without them.
  Duration OldestWait() const { return state_->OldestWait(); }

  // From now on adds are dropped. Waiting keys are still handed out. Blocked Gets return when nothing is
  // left.
  void ShutDown() { state_->ShutDown(); }
  bool shutting_down() const { return state_->shutting_down; }

 private:
  using Table = KeyTable<Key, Hash>;
  using Node = KeyNode<Key>;

  // The keys of one part of the hash space. Producers and workers mostly use different parts; all they share
  // is the short moment in line.
  struct alignas(64) Shard {
    LightMutex mu;
    Table table FLYBALL_GUARDED_BY(mu);
    std::size_t in_process FLYBALL_GUARDED_BY(mu) = 0;
  };
  static constexpr std::size_t kShards = 8;

  struct State {
    State(Executor& e, const WorkQueueOptions& o)
        : executor(e), metrics(o.metrics, o.name, e.clock()), limiter(e.clock(), o.limits) {}

    // Chosen by the high bits, because the indexes of the tables use the low ones.
    Shard& ShardOf(std::uint32_t hash) { return shards[hash >> 29]; }

    void Add(const Key& key, Priority priority) {
      const std::uint32_t hash = Table::HashOf(key);
      Shard& shard = ShardOf(hash);
      if (shutting_down) return;
      {
        LightLock lock(shard.mu);
        Node* node = shard.table.FindOrInsert(key, hash);
        if (node->dirty) {
          if (!node->processing && priority > node->priority) Lift(node, priority);
          return;
        }
        node->dirty = true;
        node->priority = priority;
        metrics.Added();
        if (node->processing) return;
        Enqueue(node);
      }
      Announce();
    }

    // Both require the lock of the node's shard. Never take a shard's lock while holding the line's lock.
    void Enqueue(Node* node) {
      LightLock lock(line_mu);
      lines.Enqueue(node);
      metrics.Queued(node->stamp, lines.queued());
    }
    void Lift(Node* node, Priority priority) {
      LightLock lock(line_mu);
      lines.Lift(node, priority);
    }

    // A key can be taken.
    void Announce() {
      if (waiting.load() > 0) {
        MutexLock lock(wait_mu);
        available.NotifyOne();
      }
      if (ready) ready();
    }

    Node* Dequeue() {
      LightLock lock(line_mu);
      Node* node = lines.Dequeue();
      if (node) metrics.Depth(lines.queued());
      return node;
    }

    // Returns null if nothing waits. Between leaving the line and entering its shard, a node is still dirty
    // and not yet in process. An Add then finds it waiting, which is correct, because the taker has not
    // started. Until its Done, the node and its key do not change, so the taker may copy the key without the
    // lock.
    Node* Take() {
      Node* node = Dequeue();
      if (!node) return nullptr;
      Shard& shard = ShardOf(node->hash);
      LightLock lock(shard.mu);
      node->dirty = false;
      node->processing = true;
      ++shard.in_process;
      metrics.Taken(node->stamp);
      shard.table.Prefetch(*node);
      return node;
    }
    static std::optional<Key> KeyOf(const Node* node) {
      return node ? std::optional<Key>(node->key) : std::nullopt;
    }
    std::optional<Key> TryGet() { return KeyOf(Take()); }
    std::optional<Key> Get() {
      for (;;) {
        const bool over = shutting_down;
        const Node* node = Take();
        if (node || over) return KeyOf(node);
        // Counted as waiting before looking again, so that an Add after that look sees the count.
        MutexLock lock(wait_mu);
        ++waiting;
        if (size() == 0 && !shutting_down) available.Wait(wait_mu);
        --waiting;
      }
    }

    void Done(const Key& key) {
      const std::uint32_t hash = Table::HashOf(key);
      Shard& shard = ShardOf(hash);
      {
        LightLock lock(shard.mu);
        Node* node = shard.table.Find(key, hash);
        if (!node || !node->processing) return;
        node->processing = false;
        --shard.in_process;
        metrics.Finished(node->stamp);
        if (!node->dirty) {
          shard.table.Erase(node);
          return;
        }
        Enqueue(node);
      }
      Announce();
    }

    void AddAfter(const std::shared_ptr<State>& self, const Key& key, Duration delay, Priority priority) {
      const SteadyTime when = executor.clock().Steady() + delay;
      MutexLock lock(delay_mu);
      if (shutting_down) return;
      const auto known = delayed_at.find(key);
      if (known != delayed_at.end()) {
        if (known->second->first <= when) return;
        delayed.erase(known->second);
        known->second = delayed.emplace(when, std::pair(key, priority));
      } else {
        delayed_at.emplace(key, delayed.emplace(when, std::pair(key, priority)));
      }
      ArmTimer(self);
    }

    // One timer, for the earliest.
    void ArmTimer(const std::shared_ptr<State>& self) FLYBALL_REQUIRES(delay_mu) {
      if (delayed.empty()) return;
      const SteadyTime first = delayed.begin()->first;
      if (timer != kNoTimer) {
        if (timer_at <= first) return;
        executor.Cancel(timer);
      }
      timer_at = first;
      timer = executor.PostAt(first, [weak = std::weak_ptr<State>(self)] {
        if (const auto alive = weak.lock()) alive->AddDue(alive);
      });
    }

    void AddDue(const std::shared_ptr<State>& self) {
      std::vector<std::pair<Key, Priority>> due;
      {
        MutexLock lock(delay_mu);
        timer = kNoTimer;
        const SteadyTime now = executor.clock().Steady();
        while (!delayed.empty() && delayed.begin()->first <= now) {
          delayed_at.erase(delayed.begin()->second.first);
          due.push_back(std::move(delayed.begin()->second));
          delayed.erase(delayed.begin());
        }
        ArmTimer(self);
      }
      for (const auto& [key, priority] : due) Add(key, priority);
    }

    void ShutDown() {
      shutting_down = true;
      {
        MutexLock lock(delay_mu);
        delayed.clear();
        delayed_at.clear();
        if (timer != kNoTimer) executor.Cancel(timer);
        timer = kNoTimer;
      }
      MutexLock lock(wait_mu);
      available.NotifyAll();
    }
    std::size_t size() {
      LightLock lock(line_mu);
      return lines.queued();
    }
    std::size_t processing_count() {
      std::size_t count = 0;
      for (Shard& shard : shards) {
        LightLock lock(shard.mu);
        count += shard.in_process;
      }
      return count;
    }
    Duration OldestWait() {
      LightLock lock(line_mu);
      const SteadyTime oldest = lines.OldestStamp();
      return metrics.enabled() && oldest != SteadyTime::max() ? executor.clock().Steady() - oldest
                                                              : Duration{};
    }

    // Values that are only looked up when the metrics are read.
    void RefreshMetrics() {
      const SteadyTime now = executor.clock().Steady();
      Duration sum{}, longest{};
      for (Shard& shard : shards) {
        LightLock lock(shard.mu);
        if (shard.in_process == 0) continue;
        shard.table.ForEachProcessing([&](const Node& node) {
          const Duration since = std::max(Duration(now - node.stamp), Duration{});
          sum += since;
          longest = std::max(longest, since);
        });
      }
      metrics.Unfinished(sum, longest);
    }

    using Delayed = std::multimap<SteadyTime, std::pair<Key, Priority>>;

    Executor& executor;
    QueueMetrics metrics;
    std::shared_ptr<void> refresh;
    RateLimiter<Key, Hash> limiter;
    Closure ready;
    std::atomic<bool> shutting_down = false;

    std::array<Shard, kShards> shards;
    alignas(64) LightMutex line_mu;  // on another cache line than what everyone reads
    KeyLines<Key> lines FLYBALL_GUARDED_BY(line_mu);

    // For callers that block in Get.
    Mutex wait_mu;
    CondVar available;
    std::atomic<int> waiting = 0;

    Mutex delay_mu;
    Delayed delayed FLYBALL_GUARDED_BY(delay_mu);
    std::unordered_map<Key, typename Delayed::iterator, Hash> delayed_at FLYBALL_GUARDED_BY(delay_mu);
    TimerId timer FLYBALL_GUARDED_BY(delay_mu) = kNoTimer;
    SteadyTime timer_at FLYBALL_GUARDED_BY(delay_mu){};
  };

  const std::shared_ptr<State> state_;
};

}  // namespace flyball
