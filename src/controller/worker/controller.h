// Controller: a work queue, the handlers that fill it, and the workers that empty it by calling one function,
// the reconciler, with one key at a time.
//
// Guarantees: one key is never reconciled twice at a time. A reconcile that fails is retried with back-off.
// An exception counts as a failure. Workers that throw repeatedly or get stuck are reported and replaced (see
// WorkerSupervisor). A reconcile does not start on a cache older than what the last reconcile of the same key
// wrote (see WriteTracker). Workers are closures on Runtime::worker_executor(): the reconciler may block,
// nothing else does.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "controller/events/event_recorder.h"
#include "controller/queue/work_queue.h"
#include "controller/worker/action.h"
#include "controller/worker/reconcile_log.h"
#include "controller/worker/worker_supervisor.h"
#include "controller/worker/write_tracker.h"
#include "informer/informer_factory.h"

namespace flyball {

class Manager;

// What a reconcile may use. Lives as long as the call, and is confined to it.
class Context {
 public:
  Context(Client client, const ObjectKey& key, InformerFactory& informers, EventRecorder& recorder,
          std::stop_token cancelled, int failures)
      : client_(std::move(client)),
        key_(key),
        informers_(informers),
        recorder_(recorder),
        cancelled_(std::move(cancelled)),
        failures_(failures) {}

  // Its writes are remembered: the next reconcile of this key waits until the caches show them.
  const Client& client() const { return client_; }
  const ObjectKey& key() const { return key_; }
  // The cache of a kind. If no controller of the manager declared the kind, the cache is empty at first.
  // Declare kinds with Owns, Watches or Uses.
  template <ApiObject T>
  Lister<T> lister() const {
    return informers_.For<T>().lister();
  }
  EventRecorder& recorder() const { return recorder_; }
  // Stopped when the reconcile timeout has passed or the manager stops. The client's calls then fail.
  const std::stop_token& cancelled() const { return cancelled_; }
  // How often this key has failed in a row.
  int failures() const { return failures_; }
  const Runtime& runtime() const { return client_.runtime(); }
  TimePoint Now() const { return runtime().clock().Now(); }

 private:
  const Client client_;
  const ObjectKey& key_;
  InformerFactory& informers_;
  EventRecorder& recorder_;
  const std::stop_token cancelled_;
  const int failures_;
};

struct ControllerOptions {
  std::string name{};
  int workers = 1;
  int max_retries = -1;  // give up on a key after this many failures in a row; -1: never
  // A reconcile that runs longer is reported, and its client calls fail from then on; zero: no limit.
  Duration timeout{};
  // A reconcile that runs this long is stuck; a controller whose keys wait this long is behind. Both are
  // reported, and a stuck worker is replaced.
  Duration stuck_after = std::chrono::minutes(2);
  Duration behind_after = std::chrono::minutes(5);
  RateLimits limits{};
  bool needs_leader = true;
  bool read_your_writes = true;
  std::string kind{};                   // of the objects that keys name; empty: none of its own
  std::shared_ptr<ReconcileLog> log{};  // where reconciles are recorded; null: nowhere
  std::string event_source;             // source.component of its events; empty: the controller's name
};

using Reconciler = std::function<Result<Action>(const ObjectKey& key, Context& context)>;

// Thread-safe. Owned by a Manager.
class Controller : public std::enable_shared_from_this<Controller> {
 public:
  static std::shared_ptr<Controller> Make(Client client, InformerFactory& informers,
                                          ControllerOptions options, Reconciler reconciler);
  // Use Make.
  Controller(Client client, InformerFactory& informers, ControllerOptions options, Reconciler reconciler);
  ~Controller();

  // Workers start once everything the controller depends on has synced.
  void Start();
  // No reconcile starts after this; `stopped` is called when the last running one has ended.
  void Stop(Closure stopped);
  // Makes the client calls of running reconciles fail.
  void CancelCalls() { stop_.request_stop(); }

  void Enqueue(const ObjectKey& key, Priority priority = Priority::kNormal) { queue_.Add(key, priority); }
  void EnqueueAfter(const ObjectKey& key, Duration delay) { queue_.AddAfter(key, delay); }
  // Where the causes of what is enqueued are recorded; null: nowhere.
  ReconcileLog* log() const { return options_.log.get(); }

  WorkQueue<ObjectKey>& queue() { return queue_; }
  const ControllerOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  EventRecorder& recorder() { return recorder_; }
  // This handler must have synced before workers start.
  void DependOn(std::shared_ptr<HandlerRegistration> handler);
  void DependOn(std::shared_ptr<InformerCore> informer);

  bool running() const { return running_; }
  // Returns what is wrong with its workers, or ok.
  Status Health() const { return supervisor_->Health(); }
  // The number of running reconciles.
  int active() const;
  // True if no key waits, is being processed, or failed last. For tests.
  bool idle() const { return queue_.size() == 0 && queue_.processing() == 0; }

 private:
  struct Counters;
  void Pump();
  void PumpAll();
  void Work();
  void RunOne(const ObjectKey& key);
  Result<Action> CallReconciler(const ObjectKey& key, const std::shared_ptr<ReconcileLog::Running>& running);
  Result<Action> Supervise(const ObjectKey& key, Context& context, const std::stop_source& cancel);
  void Finish(const ObjectKey& key, const Result<Action>& result);
  void Fail(const ObjectKey& key, const Error& error);
  bool WaitsForCache(const ObjectKey& key);
  void WhenSynced(Closure fn);

  const Client client_;
  InformerFactory& informers_;
  const ControllerOptions options_;
  const Reconciler reconciler_;
  EventRecorder recorder_;
  mutable WorkQueue<ObjectKey> queue_;
  const std::shared_ptr<WriteTracker> writes_;
  const std::unique_ptr<Counters> counters_;
  std::shared_ptr<WorkerSupervisor> supervisor_;  // set by Make
  std::stop_source stop_;
  std::atomic<bool> running_ = false;

  mutable Mutex mu_;
  int active_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool stopping_ FLYBALL_GUARDED_BY(mu_) = false;
  Closure stopped_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<HandlerRegistration>> handlers_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<InformerCore>> caches_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
