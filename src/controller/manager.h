// Manager: provides what a controller program needs: shared caches, leader election, events, health checks,
// and an orderly start and stop.
//
//   Manager manager(client, {.name = "network-controller"});
//   manager.For<Network>().Owns<ConfigMap>().Workers(2).Reconcile(&Reconcile);
//   manager.Run(stop);                                     // or Start() and Stop() in a simulation
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "client/client.h"
#include "controller/events/event_recorder.h"
#include "controller/leader/leader_elector.h"
#include "controller/worker/controller.h"
#include "informer/informer_factory.h"

namespace flyball {

template <ApiObject T>
class ControllerBuilder;

struct ManagerOptions {
  std::string name = "flyball-manager";  // of the lease and the user agent
  std::string ns{};                      // watch only this namespace; empty: all
  bool leader_election = false;
  LeaderElectorOptions election{};  // name, ns and identity are filled in if empty
  bool streaming_lists = false;
  // Cached objects omit metadata.managedFields, which makes them faster and smaller. They may be written back
  // as they are: the server keeps its own managedFields.
  bool drop_managed_fields = false;
  // For controllers that do not set their own: see ControllerOptions::timeout.
  Duration reconcile_timeout{};
  // Where the reconciles of its controllers are recorded; null: nowhere.
  std::shared_ptr<ReconcileLog> reconciles{};
  // Stop waits this long for running reconciles, then returns anyway, and their client calls fail.
  Duration stop_timeout = std::chrono::seconds(30);
};

// Thread-safe. The client's runtime must outlive it. Stop it before destroying it.
class Manager {
 public:
  explicit Manager(Client client, ManagerOptions options = {});
  ~Manager();

  // Starts the declaration of a controller of T; the controller exists once .Reconcile has been called.
  template <ApiObject T>
  ControllerBuilder<T> For();
  // A controller without its own kind. The caller fills its queue (Enqueue).
  std::shared_ptr<Controller> AddController(ControllerOptions options, Reconciler reconciler);

  // Another function that runs as long as the manager. It is called on the worker executor once the caches
  // have synced (and this replica leads, if needs_leader). It may block until the token is stopped. If it
  // returns an error or throws, it is restarted with back-off (1 s, doubled, at most a minute).
  using Runnable = std::function<Status(std::stop_token)>;
  void AddRunnable(std::string name, Runnable runnable, bool needs_leader = true);

  // The CustomResourceDefinitions of the custom kinds that this program is For. The builders add them; each
  // is created once, on first use.
  using MakeCrd = json::Value (*)();
  void AddCrd(MakeCrd make);
  std::vector<json::Value> Crds() const;

  // The manager is not ready, or not healthy, while any check fails.
  using Check = std::function<Status()>;
  void AddHealthCheck(std::string name, Check check);
  void AddReadyCheck(std::string name, Check check);
  // Returns every check by name, including the SDK's own. Health has one check per controller (its workers do
  // not throw, are not stuck and do not fall behind) and one per runnable (it runs). Readiness has "caches"
  // (they have synced).
  using CheckResults = std::vector<std::pair<std::string, Status>>;
  CheckResults HealthChecks() const;
  CheckResults ReadyChecks();
  // Returns the first failure.
  Status Healthy() const;
  Status Ready();

  // Starts the caches, then the election, then the controllers when they may run. Returns at once.
  Status Start();
  // Stops gracefully: controllers finish their running reconciles, the lease is released, the caches stop;
  // then calls done.
  void Stop(Closure done = nullptr);
  // Starts, blocks until the token is stopped or leadership is lost, and stops. Returns an error if
  // leadership was lost.
  Status Run(std::stop_token stop);

  // Controllers added from now on act through `client`, with an identity of their own; so does client(). The
  // caches and the election keep the one the manager was made with. Before Start.
  void ActAs(Client client) { acting_ = std::move(client); }
  const Client& client() const { return acting_; }
  const Runtime& runtime() const { return client_.runtime(); }
  InformerFactory& informers() { return informers_; }
  const ManagerOptions& options() const { return options_; }
  bool is_leader() const;
  std::vector<std::shared_ptr<Controller>> controllers() const;
  // Called when leadership was lost; the program should exit. Set before Start.
  void OnLeadershipLost(Closure fn);

 private:
  struct Supervised;
  void StartControllers(bool leader_ones);
  void StartRunnables(bool leader_ones);
  void Launch(const std::shared_ptr<Supervised>& runnable);
  void StopRest(std::shared_ptr<Closure> done);

  const Client client_;
  Client acting_;
  const ManagerOptions options_;
  InformerFactory informers_;
  std::unique_ptr<LeaderElector> elector_;
  std::stop_source stop_source_;
  std::shared_ptr<bool> alive_;

  mutable Mutex mu_;
  std::vector<std::shared_ptr<Controller>> controllers_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Supervised>> runnables_ FLYBALL_GUARDED_BY(mu_);
  std::vector<MakeCrd> crds_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, Check> health_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, Check> ready_ FLYBALL_GUARDED_BY(mu_);
  bool started_ FLYBALL_GUARDED_BY(mu_) = false;
  bool stopping_ FLYBALL_GUARDED_BY(mu_) = false;
  Closure leadership_lost_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball

#include "controller/controller_builder.h"
