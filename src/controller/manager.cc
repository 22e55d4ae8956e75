#include "controller/manager.h"

#include <atomic>
#include <exception>
#include <utility>

#include "base/observe/log.h"
#include "base/run/notification.h"

namespace flyball {

struct Manager::Supervised {
  static constexpr Duration kFirstBackoff = std::chrono::seconds(1);
  static constexpr Duration kMaxBackoff = std::chrono::minutes(1);

  std::string name;
  Runnable fn;
  bool needs_leader;
  bool launched = false;
  bool failed = false;  // waiting to be restarted
  Duration backoff = kFirstBackoff;
};

Manager::Manager(Client client, ManagerOptions options)
    : client_(std::move(client)),
      acting_(client_),
      options_(std::move(options)),
      informers_(client_, {.ns = options_.ns,
                           .streaming_lists = options_.streaming_lists,
                           .drop_managed_fields = options_.drop_managed_fields}),
      alive_(std::make_shared<bool>(true)) {}

Manager::~Manager() {
  Stop();
}

std::shared_ptr<Controller> Manager::AddController(ControllerOptions options, Reconciler reconciler) {
  if (options.timeout == Duration::zero()) options.timeout = options_.reconcile_timeout;
  if (!options.log) options.log = options_.reconciles;
  auto controller = Controller::Make(acting_, informers_, std::move(options), std::move(reconciler));
  MutexLock lock(mu_);
  controllers_.push_back(controller);
  return controller;
}

void Manager::AddRunnable(std::string name, Runnable runnable, bool needs_leader) {
  MutexLock lock(mu_);
  runnables_.push_back(
      std::make_shared<Supervised>(Supervised{std::move(name), std::move(runnable), needs_leader}));
}

void Manager::AddCrd(MakeCrd make) {
  MutexLock lock(mu_);
  crds_.push_back(make);
}

std::vector<json::Value> Manager::Crds() const {
  MutexLock lock(mu_);
  std::vector<json::Value> out;
  for (const MakeCrd make : crds_) {
    json::Value crd = make();
    const auto is_same = [&](const json::Value& known) {
      return known["metadata"] == std::as_const(crd)["metadata"];
    };
    if (std::none_of(out.begin(), out.end(), is_same)) out.push_back(std::move(crd));
  }
  return out;
}

void Manager::AddHealthCheck(std::string name, Check check) {
  MutexLock lock(mu_);
  health_[std::move(name)] = std::move(check);
}

void Manager::AddReadyCheck(std::string name, Check check) {
  MutexLock lock(mu_);
  ready_[std::move(name)] = std::move(check);
}

namespace {

Manager::CheckResults RunChecks(const std::map<std::string, Manager::Check>& checks) {
  Manager::CheckResults results;
  for (const auto& [name, check] : checks) results.emplace_back(name, check());
  return results;
}

Status FirstFailure(const Manager::CheckResults& results) {
  for (const auto& [name, status] : results)
    if (!status) return Unexpected(status.error().Annotate(name));
  return {};
}

}  // namespace

Manager::CheckResults Manager::HealthChecks() const {
  std::map<std::string, Check> checks;
  CheckResults runnables;
  {
    MutexLock lock(mu_);
    checks = health_;
    for (const auto& runnable : runnables_)
      runnables.emplace_back(
          "runnable-" + runnable->name,
          runnable->failed ? Unexpected(InternalError("it failed; it waits to start again")) : Status());
  }
  CheckResults results = RunChecks(checks);
  for (const auto& controller : controllers())
    results.emplace_back("controller-" + controller->name(), controller->Health());
  results.insert(results.end(), runnables.begin(), runnables.end());
  return results;
}

Manager::CheckResults Manager::ReadyChecks() {
  std::map<std::string, Check> checks;
  {
    MutexLock lock(mu_);
    checks = ready_;
  }
  CheckResults results = RunChecks(checks);
  results.emplace_back(
      "caches", informers_.HasSynced() ? Status() : Unexpected(InternalError("they have not synced yet")));
  return results;
}

Status Manager::Healthy() const {
  return FirstFailure(HealthChecks());
}

Status Manager::Ready() {
  return FirstFailure(ReadyChecks());
}

bool Manager::is_leader() const {
  return !elector_ || elector_->IsLeader();
}

std::vector<std::shared_ptr<Controller>> Manager::controllers() const {
  MutexLock lock(mu_);
  return controllers_;
}

void Manager::OnLeadershipLost(Closure fn) {
  MutexLock lock(mu_);
  leadership_lost_ = std::move(fn);
}

Status Manager::Start() {
  {
    MutexLock lock(mu_);
    if (std::exchange(started_, true)) return Unexpected(BadRequest("the manager was started before"));
  }
  informers_.Start();
  StartControllers(false);
  StartRunnables(false);
  if (!options_.leader_election) {
    StartControllers(true);
    StartRunnables(true);
    return {};
  }
  LeaderElectorOptions election = options_.election;
  if (election.name.empty()) election.name = options_.name;
  if (election.identity.empty()) election.identity = options_.name + "_" + runtime().random.Uuid();
  LeaderCallbacks callbacks;
  callbacks.started_leading = [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    StartControllers(true);
    StartRunnables(true);
  };
  callbacks.stopped_leading = [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    Closure lost;
    {
      MutexLock lock(mu_);
      if (!stopping_) lost = std::move(leadership_lost_);
    }
    if (lost) lost();
  };
  elector_ = std::make_unique<LeaderElector>(client_, std::move(election), std::move(callbacks));
  elector_->Start();
  return {};
}

void Manager::StartControllers(bool leader_ones) {
  for (const auto& controller : controllers())
    if (controller->options().needs_leader == leader_ones) controller->Start();
}

void Manager::StartRunnables(bool leader_ones) {
  std::vector<std::shared_ptr<Supervised>> to_start;
  {
    MutexLock lock(mu_);
    for (const auto& runnable : runnables_)
      if (runnable->needs_leader == leader_ones && !std::exchange(runnable->launched, true))
        to_start.push_back(runnable);
  }
  if (to_start.empty()) return;
  informers_.OnSynced([this, alive = std::weak_ptr<bool>(alive_), to_start] {
    if (alive.expired()) return;
    for (const auto& runnable : to_start) Launch(runnable);
  });
}

// Runs it, and restarts it after a delay if it failed.
void Manager::Launch(const std::shared_ptr<Supervised>& runnable) {
  runtime().worker_executor().Post([this, alive = std::weak_ptr<bool>(alive_), runnable] {
    const auto keep = alive.lock();
    if (!keep || stop_source_.stop_requested()) return;
    {
      MutexLock lock(mu_);
      runnable->failed = false;
    }
    Status status;
    try {
      status = runnable->fn(stop_source_.get_token());
    } catch (const std::exception& e) {
      status = Unexpected(InternalError(e.what()));
    } catch (...) {
      status = Unexpected(InternalError("unknown exception"));
    }
    if (status || stop_source_.stop_requested()) return;
    log::Error("runnable failed, will be started again",
               {{"name", runnable->name}, {"error", status.error().ToString()}});
    {
      MutexLock lock(mu_);
      runnable->failed = true;
    }
    const Duration wait = runnable->backoff;
    runnable->backoff = std::min(runnable->backoff * 2, Supervised::kMaxBackoff);
    runtime().executor.PostAfter(wait, [this, alive, runnable] {
      if (!alive.expired()) Launch(runnable);
    });
  });
}

void Manager::Stop(Closure done) {
  std::vector<std::shared_ptr<Controller>> all;
  {
    MutexLock lock(mu_);
    if (std::exchange(stopping_, true)) {
      if (done) runtime().executor.Post(std::move(done));
      return;
    }
    all = controllers_;
  }
  stop_source_.request_stop();
  // Whichever comes first: every controller has stopped, or the timeout.
  struct Progress {
    std::atomic<std::size_t> left;
    std::atomic<bool> finished = false;
    Closure rest;
    TimerId timer = kNoTimer;
  };
  auto progress = std::make_shared<Progress>();
  progress->left = all.size() + 1;
  auto shared_done = std::make_shared<Closure>(std::move(done));
  progress->rest = [this, alive = std::weak_ptr<bool>(alive_), shared_done] {
    if (!alive.expired()) StopRest(shared_done);
  };
  const auto finish = [progress, &executor = runtime().executor] {
    if (progress->finished.exchange(true)) return;
    if (progress->timer != kNoTimer) executor.Cancel(progress->timer);
    progress->rest();
  };
  progress->timer = runtime().executor.PostAfter(options_.stop_timeout, [finish, all] {
    for (const auto& controller : all) controller->CancelCalls();
    finish();
  });
  const auto arrive = [progress, finish] {
    if (--progress->left == 0) finish();
  };
  for (const auto& controller : all) controller->Stop(arrive);
  arrive();
}

void Manager::StopRest(std::shared_ptr<Closure> done) {
  auto finish = [this, alive = std::weak_ptr<bool>(alive_), done] {
    if (!alive.expired()) informers_.Stop();
    if (*done) (*done)();
  };
  if (elector_)
    elector_->Stop(std::move(finish));
  else
    finish();
}

Status Manager::Run(std::stop_token stop) {
  auto ended = std::make_shared<Notification<Status>>();
  OnLeadershipLost([ended] { ended->Set(Unexpected(Error(Reason::kTimeout, "leadership was lost"))); });
  FLYBALL_TRY(Start());
  const std::stop_callback on_stop(stop, [ended] { ended->Set({}); });
  const Status status = ended->Wait();
  auto stopped = std::make_shared<Notification<bool>>();
  Stop([stopped] { stopped->Set(true); });
  stopped->Wait();
  return status;
}

}  // namespace flyball
