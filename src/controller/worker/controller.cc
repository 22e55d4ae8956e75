#include "controller/worker/controller.h"

#include <exception>
#include <utility>

#include "base/observe/log.h"

namespace flyball {
namespace {

WorkQueueOptions QueueOptions(const Client& client, const ControllerOptions& options) {
  return {options.name, &client.runtime().metrics, options.limits};
}

// Calls fn after it has been called `count` times, plus once by its creator.
class Countdown {
 public:
  Countdown(std::size_t count, Closure fn) : left_(count + 1), fn_(std::move(fn)) {}
  void Arrive() {
    if (--left_ == 0) fn_();
  }

 private:
  std::atomic<std::size_t> left_;
  const Closure fn_;
};

// A conflict is normal: someone else wrote first, and the next attempt sees it. So is that the object, or its
// namespace, was deleted meanwhile.
bool IsRoutine(const ObjectKey& key, const Error& error) {
  if (error.Is(Reason::kConflict)) return true;
  if (error.Is(Reason::kNotFound)) return error.details().name == key.name || error.details().name == key.ns;
  for (const Cause& cause : error.details().causes)
    if (cause.reason == "NamespaceTerminating") return true;
  return false;
}

// The first failure of a key is news. The next ones follow within seconds and say the same; once back-off has
// made them rare, each shows that the trouble lasts.
constexpr int kRareRetry = 11;  // 5 ms, doubled so often, is 10 s
bool IsWorthSaying(int failures) {
  return failures == 0 || failures >= kRareRetry;
}

}  // namespace

// controller-runtime's names.
struct Controller::Counters {
  Counters(Metrics& metrics, const std::string& name)
      : success(Total(metrics, name, "success")),
        error(Total(metrics, name, "error")),
        requeue(Total(metrics, name, "requeue")),
        requeue_after(Total(metrics, name, "requeue_after")),
        terminal(metrics.GetCounter("controller_runtime_terminal_reconcile_errors_total",
                                    "Total number of terminal reconciliation errors per controller",
                                    {{"controller", name}})),
        panics(metrics.GetCounter("controller_runtime_reconcile_panics_total",
                                  "Total number of exceptions that left a reconciler",
                                  {{"controller", name}})),
        timeouts(metrics.GetCounter("controller_runtime_reconcile_timeouts_total",
                                    "Total number of reconciles that took longer than allowed",
                                    {{"controller", name}})),
        active(metrics.GetGauge("controller_runtime_active_workers",
                                "Number of workers at work per controller", {{"controller", name}})),
        seconds(metrics.GetHistogram(
            "controller_runtime_reconcile_time_seconds", "Length of time per reconciliation per controller",
            {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60}, {{"controller", name}})) {}

  static Counter& Total(Metrics& metrics, const std::string& name, const std::string& result) {
    return metrics.GetCounter("controller_runtime_reconcile_total",
                              "Total number of reconciliations per controller",
                              {{"controller", name}, {"result", result}});
  }

  Counter &success, &error, &requeue, &requeue_after, &terminal, &panics, &timeouts;
  Gauge& active;
  Histogram& seconds;
};

Controller::Controller(Client client, InformerFactory& informers, ControllerOptions options,
                       Reconciler reconciler)
    : client_(std::move(client)),
      informers_(informers),
      options_(std::move(options)),
      reconciler_(std::move(reconciler)),
      recorder_(client_, options_.event_source.empty() ? options_.name : options_.event_source),
      queue_(client_.runtime().executor, QueueOptions(client_, options_)),
      writes_(std::make_shared<WriteTracker>(client_, informers)),
      counters_(std::make_unique<Counters>(client_.runtime().metrics, options_.name)) {}

Controller::~Controller() = default;

std::shared_ptr<Controller> Controller::Make(Client client, InformerFactory& informers,
                                             ControllerOptions options, Reconciler reconciler) {
  auto controller =
      std::make_shared<Controller>(std::move(client), informers, std::move(options), std::move(reconciler));
  const std::weak_ptr<Controller> weak = controller;
  controller->queue_.OnReady([weak] {
    if (const auto self = weak.lock()) self->Pump();
  });
  const ControllerOptions& made = controller->options_;
  controller->supervisor_ = std::make_shared<WorkerSupervisor>(
      controller->client_.runtime(), SupervisionOptions{made.name, made.stuck_after, made.behind_after},
      [weak] {
        const auto self = weak.lock();
        return self ? self->queue_.OldestWait() : Duration{};
      },
      [weak] {
        if (const auto self = weak.lock()) self->PumpAll();
      });
  return controller;
}

void Controller::DependOn(std::shared_ptr<HandlerRegistration> handler) {
  MutexLock lock(mu_);
  handlers_.push_back(std::move(handler));
}

void Controller::DependOn(std::shared_ptr<InformerCore> informer) {
  MutexLock lock(mu_);
  caches_.push_back(std::move(informer));
}

void Controller::WhenSynced(Closure fn) {
  std::vector<std::shared_ptr<HandlerRegistration>> handlers;
  std::vector<std::shared_ptr<InformerCore>> caches;
  {
    MutexLock lock(mu_);
    handlers = handlers_;
    caches = caches_;
  }
  auto countdown = std::make_shared<Countdown>(handlers.size() + caches.size(), std::move(fn));
  for (const auto& handler : handlers) handler->OnSynced([countdown] { countdown->Arrive(); });
  for (const auto& cache : caches) cache->OnSynced([countdown] { countdown->Arrive(); });
  countdown->Arrive();
}

void Controller::Start() {
  const std::weak_ptr<Controller> weak = weak_from_this();
  WhenSynced([weak] {
    const auto self = weak.lock();
    if (!self) return;
    {
      MutexLock lock(self->mu_);
      if (self->stopping_) return;
    }
    self->running_ = true;
    self->PumpAll();
  });
}

void Controller::Stop(Closure stopped) {
  queue_.ShutDown();
  running_ = false;
  MutexLock lock(mu_);
  stopping_ = true;
  if (active_ > 0)
    stopped_ = std::move(stopped);
  else if (stopped)
    client_.runtime().executor.Post(std::move(stopped));
}

int Controller::active() const {
  MutexLock lock(mu_);
  return active_;
}

// For keys queued while no worker could run: one attempt each.
void Controller::PumpAll() {
  for (int i = 0; i < options_.workers; ++i) Pump();
}

// Starts another worker if the queue has work and workers are left.
void Controller::Pump() {
  {
    MutexLock lock(mu_);
    if (!running_ || stopping_ || queue_.size() == 0 || supervisor_->paused()) return;
    if (active_ >= options_.workers + supervisor_->spares()) return;
    ++active_;
    counters_->active.Set(active_);
  }
  client_.runtime().worker_executor().Post([self = shared_from_this()] { self->Work(); });
}

// One key per turn, so that controllers that share an executor take turns.
void Controller::Work() {
  bool stopping;
  {
    MutexLock lock(mu_);
    stopping = stopping_;
  }
  if (!stopping) {
    if (const auto key = queue_.TryGet()) {
      RunOne(*key);
      queue_.Done(*key);
    }
  }
  Closure stopped;
  {
    MutexLock lock(mu_);
    --active_;
    counters_->active.Set(active_);
    if (stopping_ && active_ == 0) stopped = std::move(stopped_);
  }
  if (stopped) stopped();
  Pump();
}

void Controller::RunOne(const ObjectKey& key) {
  if (WaitsForCache(key)) return;
  const SteadyTime began = client_.runtime().clock().Steady();
  const auto running =
      options_.log ? options_.log->Begin(name(), options_.kind, key, queue_.Failures(key)) : nullptr;
  const Result<Action> result = CallReconciler(key, running);
  if (running) options_.log->End(*running, result);
  counters_->seconds.Observe(
      std::chrono::duration<double>(client_.runtime().clock().Steady() - began).count());
  Finish(key, result);
}

bool Controller::WaitsForCache(const ObjectKey& key) {
  if (!options_.read_your_writes) return false;
  const bool caught_up = writes_->CaughtUp(key, [weak = weak_from_this(), key] {
    if (const auto self = weak.lock()) self->Enqueue(key);
  });
  return !caught_up;
}

Result<Action> Controller::CallReconciler(const ObjectKey& key,
                                          const std::shared_ptr<ReconcileLog::Running>& running) {
  std::stop_source cancel;
  const std::stop_callback forward(stop_.get_token(), [&cancel] { cancel.request_stop(); });
  Executor& executor = client_.runtime().executor;
  TimerId timer = kNoTimer;
  if (options_.timeout > Duration::zero())
    timer = executor.PostAfter(options_.timeout, [cancel, self = shared_from_this(), key]() mutable {
      log::Warning("reconcile takes too long", {{"controller", self->name()}, {"key", key.ToString()}});
      self->counters_->timeouts.Add();
      cancel.request_stop();
    });
  Client client = client_.WithCancel(cancel.get_token());
  std::shared_ptr<WriteObserver> observer = options_.read_your_writes ? writes_->ObserverFor(key) : nullptr;
  if (running) observer = ReconcileLog::Running::Observe(running, std::move(observer));
  if (observer) client = client.WithObserver(std::move(observer));
  Context context(std::move(client), key, informers_, recorder_, cancel.get_token(), queue_.Failures(key));
  const Result<Action> result = Supervise(key, context, cancel);
  if (timer != kNoTimer) executor.Cancel(timer);
  return result;
}

Result<Action> Controller::Supervise(const ObjectKey& key, Context& context, const std::stop_source& cancel) {
  const WorkerSupervisor::RunId run = supervisor_->Began(key.ToString(), cancel);
  std::string thrown = "something unknown";
  try {
    Result<Action> result = reconciler_(key, context);
    supervisor_->Returned(run);
    return result;
  } catch (const std::exception& e) {
    thrown = e.what();
  } catch (...) {
    // The exception has no message.
  }
  counters_->panics.Add();
  supervisor_->Threw(run);
  return Unexpected(InternalError("the reconciler threw: " + thrown));
}

void Controller::Finish(const ObjectKey& key, const Result<Action>& result) {
  if (!result) return Fail(key, result.error());
  if (result->terminal) {
    log::Error("reconcile failed for good",
               {{"controller", name()}, {"key", key.ToString()}, {"error", result->terminal->ToString()}});
    counters_->terminal.Add();
    queue_.Forget(key);
  } else if (result->requeue) {
    counters_->requeue.Add();
    queue_.AddRateLimited(key);
  } else if (result->requeue_after > Duration::zero()) {
    counters_->requeue_after.Add();
    queue_.Forget(key);
    queue_.AddAfter(key, result->requeue_after);
  } else {
    counters_->success.Add();
    queue_.Forget(key);
  }
}

void Controller::Fail(const ObjectKey& key, const Error& error) {
  counters_->error.Add();
  const int failures = queue_.Failures(key);
  const bool give_up = options_.max_retries >= 0 && failures >= options_.max_retries;
  const bool quiet = !give_up && (IsRoutine(key, error) || !IsWorthSaying(failures));
  log::Write(quiet ? log::Level::kDebug : log::Level::kWarning,
             give_up ? "reconcile failed, giving up" : "reconcile failed, will retry",
             {{"controller", name()}, {"key", key.ToString()}, {"error", error.ToString()}});
  if (give_up)
    queue_.Forget(key);
  else
    queue_.AddRateLimited(key);
}

}  // namespace flyball
