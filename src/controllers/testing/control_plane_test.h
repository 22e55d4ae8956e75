// A control plane on virtual time: the real API server on a memory store, the built-in controllers, and a
// node that only reports that pods run. It runs in one thread; tests of minutes take milliseconds.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/run/sim_executor.h"
#include "client/client.h"
#include "controllers/controllers.h"
#include "flyball/sdk.h"
#include "json/yaml/yaml.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::controllers::testing {

class ControlPlane {
 public:
  explicit ControlPlane(std::uint64_t seed = 1)
      : executor(seed),
        store(store::NewMemoryStore(executor)),
        runtime{.executor = executor, .random = executor.random(), .metrics = metrics, .may_block = false} {
    server::ApiServerOptions options;
    // Most tests run one controller alone, so pods must not wait for the controller that creates service
    // accounts.
    options.admission.disable = {"ServiceAccount"};
    auto made = server::ApiServer::Make(options, *store, executor, executor.random(), metrics);
    if (!made) ADD_FAILURE() << made.error().ToString();
    server = std::move(*made);
    transport = server->InProcess(
        {.name = "test", .uid = "", .groups = {"system:masters", "system:authenticated"}, .extra = {}});
    rest = std::make_shared<RestClient>(transport, runtime);
    client = std::make_unique<Client>(rest);
  }
  ~ControlPlane() {
    StopControllers();
    server->Stop();
    executor.RunFor(1min);
  }

  // Each controller with the rights of its own service account, as the program runs them.
  void StartControllers(ControllersOptions options = {}) {
    options.client_of_account = [this](const std::string& account) {
      return Client(std::make_shared<RestClient>(
          server->InProcess({.name = "system:serviceaccount:kube-system:" + account,
                             .uid = "",
                             .groups = {"system:serviceaccounts", "system:serviceaccounts:kube-system",
                                        "system:authenticated"},
                             .extra = {}}),
          runtime));
    };
    StartControllers(*client, options);
  }
  // Uses another transport to the server.
  void StartControllers(const Client& way, ControllersOptions options) {
    // As the program runs them.
    manager = std::make_unique<Manager>(way, ManagerOptions{.drop_managed_fields = true});
    const Status added = AddControllers(*manager, options);
    ASSERT_TRUE(added) << added.error().ToString();
    ASSERT_TRUE(manager->Start());
  }
  void StopControllers() {
    if (!manager) return;
    manager->Stop();
    executor.RunFor(35s);
    manager.reset();
  }

  // Creates one object from YAML.
  void Create(std::string_view yaml) {
    auto value = json::ParseYaml(yaml);
    ASSERT_TRUE(value) << value.error().ToString();
    RestMapper mapper(*client);
    auto kind = mapper.ForObject(*value);
    ASSERT_TRUE(kind) << kind.error().ToString();
    auto made = client->Dynamic(*kind).Create(*value);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  template <ApiObject T>
  T Get(std::string_view ns, std::string_view name) {
    auto object = client->Get<T>(ns, name);
    EXPECT_TRUE(object) << object.error().ToString();
    return object.value_or(T{});
  }
  template <ApiObject T>
  bool Exists(std::string_view ns, std::string_view name) {
    return static_cast<bool>(client->Get<T>(ns, name));
  }
  template <ApiObject T>
  std::vector<T> List(std::string_view ns = {}, std::string labels = {}) {
    ListParams params;
    params.label_selector = std::move(labels);
    auto list = client->List<T>(ns, params);
    EXPECT_TRUE(list) << list.error().ToString();
    return list ? std::move(list->items) : std::vector<T>();
  }
  template <ApiObject T>
  void MergePatch(std::string_view ns, std::string_view name, std::string_view yaml,
                  std::string subresource = {}) {
    auto patch = json::ParseYaml(yaml);
    ASSERT_TRUE(patch) << patch.error().ToString();
    PatchParams params;
    params.subresource = std::move(subresource);
    auto patched = client->Patch<T>(ns, name, PatchType::kMerge, *patch, params);
    ASSERT_TRUE(patched) << patched.error().ToString();
  }

  // What a node would report.
  void SetPod(const Pod& pod, std::string phase, bool ready, int exit_code = 0) {
    Pod p = Get<Pod>(pod.metadata.namespace_, pod.metadata.name);
    const auto now = api::Time::From(executor.clock().Now());
    p.status.phase = phase;
    if (!p.status.start_time) p.status.start_time = now;
    for (const char* type : {"Ready", "ContainersReady"}) {
      PodCondition c;
      c.type = type;
      c.status = ready ? "True" : "False";
      SetCondition(p.status.conditions, c, now);
    }
    p.status.container_statuses.clear();
    for (const Container& container : p.spec.containers) {
      ContainerStatus s;
      s.name = container.name;
      s.image = container.image;
      s.ready = ready;
      if (phase == "Succeeded" || phase == "Failed") {
        s.state.terminated.emplace().exit_code = exit_code;
        s.state.terminated->finished_at = now;
      } else {
        s.state.running.emplace().started_at = now;
      }
      p.status.container_statuses.push_back(s);
    }
    const auto written = client->UpdateStatus(p);
    EXPECT_TRUE(written) << written.error().ToString();
  }
  // Makes every pending pod Running and ready, and removes every terminating one. Returns how many changed.
  int RunPods() {
    int changed = 0;
    for (const Pod& pod : List<Pod>()) {
      if (IsDeleting(pod.metadata)) {
        DeleteParams now;
        now.grace_period_seconds = 0;
        (void)client->Delete(pod, now);
        ++changed;
      } else if (pod.status.phase == "Pending") {
        SetPod(pod, "Running", true);
        ++changed;
      }
    }
    return changed;
  }
  // Lets controllers work and pods run until nothing changes any more.
  void Settle(int rounds = 40) {
    for (int i = 0; i < rounds; ++i) {
      executor.RunFor(1s);
      if (RunPods() == 0 && i > 0) break;
    }
    executor.RunFor(2s);
  }
  void Run(Duration d) { executor.RunFor(d); }

  // "Normal SuccessfulCreate Created pod: x", sorted.
  std::vector<std::string> EventsOf(std::string_view ns, const std::string& name) {
    std::vector<std::string> out;
    for (const Event& e : List<Event>(ns))
      if (e.involved_object.name == name) out.push_back(e.type + " " + e.reason + " " + e.message);
    std::sort(out.begin(), out.end());
    return out;
  }

  SimExecutor executor;
  Metrics metrics;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<server::ApiServer> server;
  Runtime runtime;
  std::shared_ptr<net::Transport> transport;
  std::shared_ptr<RestClient> rest;
  std::unique_ptr<Client> client;
  std::unique_ptr<Manager> manager;
};

}  // namespace flyball::controllers::testing
