// WorkQueue<Key>: keys waiting to be reconciled (upstream: client-go util/workqueue).
//
// Guarantees: a key waits at most once; a key is never given to two workers at a time; a key added while a
// worker has it runs again after that worker's Done. Higher priorities go first, but one in kFairness takes
// is given to the lowest waiting, so that nothing starves. Within a priority: first in, first out.
//
// Nobody has to block: TryGet takes if there is something, and the ready callback says when to try. Get
// blocks for code that wants its own threads.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/executor.h"
#include "base/light_mutex.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/unique_function.h"
#include "controller/key_table.h"
#include "controller/queue_metrics.h"
#include "controller/rate_limiter.h"

namespace flyball {

struct WorkQueueOptions {
  std::string name{};          // label of the metrics
  Metrics* metrics = nullptr;  // null: none
  RateLimits limits{};
};

// Thread-safe. May be destroyed while timers of delayed adds are pending; not while somebody is in Get.
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

  // If it already waits: nothing, except that a higher priority lifts it.
  void Add(const Key& key, Priority priority = Priority::kNormal) { state_->Add(key, priority); }
  // After `delay`; of several pending for one key the earliest counts.
  void AddAfter(const Key& key, Duration delay, Priority priority = Priority::kNormal) {
    if (delay <= Duration::zero()) return Add(key, priority);
    state_->AddAfter(state_, key, delay, priority);
  }
  // After the time the rate limiter says, which grows with each call until Forget.
  void AddRateLimited(const Key& key, Priority priority = Priority::kNormal) {
    state_->metrics.Retry();
    AddAfter(key, state_->limiter.When(key), priority);
  }
  // The key succeeded: its next failure waits the shortest time again.
  void Forget(const Key& key) { state_->limiter.Forget(key); }
  int Failures(const Key& key) const { return state_->limiter.Failures(key); }

  // The next key, or nothing. The taker must call Done with it.
  std::optional<Key> TryGet() { return state_->TryGet(); }
  // Blocks for the next key; nothing once the queue is shut down and empty.
  std::optional<Key> Get() { return state_->Get(); }
  void Done(const Key& key) { state_->Done(key); }

  // Keys waiting, without the delayed and the taken ones.
  std::size_t size() const { return state_->size(); }
  std::size_t processing() const { return state_->processing_count(); }
  // How long the longest-waiting key has waited; zero if none waits. Needs metrics: without them no key
  // knows.
  Duration OldestWait() const { return state_->OldestWait(); }

  // From now on adds are dropped; what waits is still given out; blocked Gets return when nothing is left.
  void ShutDown() { state_->ShutDown(); }
  bool shutting_down() const { return state_->is_shutting_down(); }

 private:
  using Table = KeyTable<Key, Hash>;
  using Node = typename Table::Node;

  struct State {
    State(Executor& e, const WorkQueueOptions& o)
        : executor(e), metrics(o.metrics, o.name, e.clock()), limiter(e.clock(), o.limits) {}

    void Add(const Key& key, Priority priority) {
      const std::uint32_t hash = Table::HashOf(key);
      {
        LightLock lock(mu);
        if (shutting_down) return;
        Node* node = table.FindOrInsert(key, hash);
        if (node->dirty) {
          if (!node->processing && priority > node->priority) table.Lift(node, priority);
          return;
        }
        node->dirty = true;
        node->priority = priority;
        metrics.Added();
        if (node->processing) return;
        table.Enqueue(node);
        metrics.Queued(node->stamp, table.queued());
      }
      Announce();
    }

    // A key can be taken.
    void Announce() {
      if (waiting.load() > 0) {
        MutexLock lock(wait_mu);
        available.NotifyOne();
      }
      if (ready) ready();
    }

    // Null if nothing waits. Until its Done the node stays where it is and its key as it is: the taker may
    // copy it without the lock.
    Node* Take() FLYBALL_REQUIRES(mu) {
      Node* node = table.Dequeue();
      if (!node) return nullptr;
      node->dirty = false;
      node->processing = true;
      ++in_process;
      metrics.Taken(node->stamp, table.queued());
      return node;
    }
    static std::optional<Key> KeyOf(const Node* node) {
      return node ? std::optional<Key>(node->key) : std::nullopt;
    }
    std::optional<Key> TryGet() {
      Node* node;
      {
        LightLock lock(mu);
        node = Take();
      }
      return KeyOf(node);
    }
    std::optional<Key> Get() {
      for (;;) {
        Node* node;
        bool over;
        {
          LightLock lock(mu);
          node = Take();
          over = shutting_down;
        }
        if (node || over) return KeyOf(node);
        // Counted as waiting before looking again: whoever adds after that look sees the count.
        MutexLock lock(wait_mu);
        ++waiting;
        if (IsIdle()) available.Wait(wait_mu);
        --waiting;
      }
    }
    bool IsIdle() {
      LightLock lock(mu);
      return table.queued() == 0 && !shutting_down;
    }

    void Done(const Key& key) {
      const std::uint32_t hash = Table::HashOf(key);
      {
        LightLock lock(mu);
        Node* node = table.Find(key, hash);
        if (!node || !node->processing) return;
        node->processing = false;
        --in_process;
        metrics.Finished(node->stamp);
        if (!node->dirty) {
          table.Erase(node);
          return;
        }
        table.Enqueue(node);
        metrics.Queued(node->stamp, table.queued());
      }
      Announce();
    }

    void AddAfter(const std::shared_ptr<State>& self, const Key& key, Duration delay, Priority priority) {
      const SteadyTime when = executor.clock().Steady() + delay;
      MutexLock lock(delay_mu);
      if (is_shutting_down()) return;
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
      {
        LightLock lock(mu);
        shutting_down = true;
      }
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
    bool is_shutting_down() {
      LightLock lock(mu);
      return shutting_down;
    }
    std::size_t size() {
      LightLock lock(mu);
      return table.queued();
    }
    std::size_t processing_count() {
      LightLock lock(mu);
      return in_process;
    }
    Duration OldestWait() {
      LightLock lock(mu);
      const SteadyTime oldest = table.OldestStamp();
      return metrics.enabled() && oldest != SteadyTime::max() ? executor.clock().Steady() - oldest
                                                              : Duration{};
    }

    // What can only be known by looking, for whoever reads the metrics.
    void RefreshMetrics() {
      LightLock lock(mu);
      const SteadyTime now = executor.clock().Steady();
      Duration sum{}, longest{};
      if (in_process > 0)
        table.ForEachProcessing([&](const Node& node) {
          sum += now - node.stamp;
          longest = std::max(longest, Duration(now - node.stamp));
        });
      metrics.Unfinished(sum, longest);
    }

    using Delayed = std::multimap<SteadyTime, std::pair<Key, Priority>>;

    Executor& executor;
    QueueMetrics metrics;
    std::shared_ptr<void> refresh;
    RateLimiter<Key, Hash> limiter;
    Closure ready;
    alignas(64) LightMutex mu;  // a cache line apart from what everybody reads
    Table table FLYBALL_GUARDED_BY(mu);
    std::size_t in_process FLYBALL_GUARDED_BY(mu) = 0;
    bool shutting_down FLYBALL_GUARDED_BY(mu) = false;

    // Of those who block in Get.
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
