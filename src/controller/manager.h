// Manager: everything a program of controllers needs around them: shared caches, leader election, events,
// health, and a start and stop in the right order.
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
  LeaderElectorOptions election{};  // name, ns and identity are filled in when empty
  bool streaming_lists = false;
  // Cached objects come without metadata.managedFields: faster and smaller. They may be written back as they
  // are: the server keeps its own.
  bool drop_managed_fields = false;
  // Of controllers that have none of their own: see ControllerOptions::timeout.
  Duration reconcile_timeout{};
  // Stop waits this long for reconciles under way, then returns anyway and their client calls fail.
  Duration stop_timeout = std::chrono::seconds(30);
};

// Thread-safe. The runtime of the client must outlive it. Stop it before destroying it.
class Manager {
 public:
  explicit Manager(Client client, ManagerOptions options = {});
  ~Manager();

  // Begins the description of a controller of T; it exists once .Reconcile has been called.
  template <ApiObject T>
  ControllerBuilder<T> For();
  // A controller without a kind of its own: whoever makes it fills its queue (Enqueue).
  std::shared_ptr<Controller> AddController(ControllerOptions options, Reconciler reconciler);

  // Something else that runs as long as the manager: called on the worker executor once caches have synced
  // (and this copy leads, if needs_leader). May block until the token is stopped. If it returns an error or
  // throws it is started again with back-off (1 s, doubled, at most a minute).
  using Runnable = std::function<Status(std::stop_token)>;
  void AddRunnable(std::string name, Runnable runnable, bool needs_leader = true);

  // The CustomResourceDefinitions of the custom kinds this program is For: added by the builders, made when
  // somebody wants them, each once.
  using MakeCrd = json::Value (*)();
  void AddCrd(MakeCrd make);
  std::vector<json::Value> Crds() const;

  // Not ready, or not healthy, while any check fails.
  using Check = std::function<Status()>;
  void AddHealthCheck(std::string name, Check check);
  void AddReadyCheck(std::string name, Check check);
  // Every check by name, with those of the SDK itself: of health one a controller (its workers neither throw
  // nor are stuck nor fall behind) and one a runnable (it runs); of readiness "caches" (they have synced).
  using CheckResults = std::vector<std::pair<std::string, Status>>;
  CheckResults HealthChecks() const;
  CheckResults ReadyChecks();
  // The first failure.
  Status Healthy() const;
  Status Ready();

  // Starts caches, then the election, then controllers as they may. Returns at once.
  Status Start();
  // Graceful: controllers finish what they are at, then the lease is released, then caches stop; then done.
  void Stop(Closure done = nullptr);
  // Start, block until the token is stopped or leadership is lost, Stop. An error if leadership was lost.
  Status Run(std::stop_token stop);

  const Client& client() const { return client_; }
  const Runtime& runtime() const { return client_.runtime(); }
  InformerFactory& informers() { return informers_; }
  const ManagerOptions& options() const { return options_; }
  bool is_leader() const;
  std::vector<std::shared_ptr<Controller>> controllers() const;
  // Called when leadership was lost: the program should end. Set before Start.
  void OnLeadershipLost(Closure fn);

 private:
  struct Supervised;
  void StartControllers(bool leader_ones);
  void StartRunnables(bool leader_ones);
  void Launch(const std::shared_ptr<Supervised>& runnable);
  void StopRest(std::shared_ptr<Closure> done);

  const Client client_;
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
