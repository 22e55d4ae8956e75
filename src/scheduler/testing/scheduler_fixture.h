// The scheduler on virtual time against the real API server.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/types/core.h"
#include "base/run/sim_executor.h"
#include "client/client.h"
#include "scheduler/scheduler.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::scheduler {

// Spoils as many bindings as it is told, so that the server refuses them.
class SpoiledBindings final : public net::Transport {
 public:
  SpoiledBindings(std::unique_ptr<net::Transport> server, int& left)
      : server_(std::move(server)), left_(left) {}
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    if (left_ > 0 && request.target.ends_with("/binding")) {
      --left_;
      request.body = "{}";
    }
    return server_->Start(std::move(request), std::move(sink));
  }
  void OpenWebSocket(net::Request request, std::vector<std::string> protocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    server_->OpenWebSocket(std::move(request), std::move(protocols), std::move(done));
  }

 private:
  const std::unique_ptr<net::Transport> server_;
  int& left_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest()
      : executor_(1),
        store_(store::NewMemoryStore(executor_)),
        server_(
            *server::ApiServer::Make({.admission = {.disable = {"ServiceAccount", "TaintNodesByCondition"}}},
                                     *store_, executor_, executor_.random(), metrics_)),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        client_(std::make_shared<RestClient>(
            std::make_unique<SpoiledBindings>(
                server_->InProcess({.name = "admin", .groups = {"system:masters", "system:authenticated"}}),
                bindings_to_spoil_),
            runtime_)),
        manager_(std::make_unique<Manager>(client_, ManagerOptions{.name = "scheduler"})) {
    EXPECT_TRUE(AddScheduler(*manager_));
    EXPECT_TRUE(manager_->Start());
    executor_.RunFor(std::chrono::seconds(1));
  }
  ~SchedulerTest() override {
    manager_->Stop();
    executor_.RunFor(std::chrono::minutes(1));
    manager_.reset();
    server_->Stop();
    executor_.RunFor(std::chrono::minutes(1));
  }

  void MakeNode(const std::string& name, const char* cpu) {
    Node node{.metadata = {.name = name, .labels = {{"kubernetes.io/hostname", name}}}};
    node.status.capacity = {{"cpu", *api::Quantity::Parse(cpu)},
                            {"memory", *api::Quantity::Parse("8Gi")},
                            {"pods", *api::Quantity::Parse("1000")}};
    node.status.allocatable = node.status.capacity;
    const auto made = client_.Create(node);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  void MakePod(const std::string& name, const char* cpu, const std::string& scheduler = {},
               const std::string& priority_class = {}) {
    Pod pod{.metadata = {.name = name, .namespace_ = "default"}};
    pod.spec.scheduler_name = scheduler;
    pod.spec.priority_class_name = priority_class;
    pod.spec.containers = {{.name = "c", .image = "host", .command = {"sleep"}}};
    pod.spec.containers[0].resources.requests = {{"cpu", *api::Quantity::Parse(cpu)}};
    const auto made = client_.Create(pod);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  Pod Get(const std::string& name) {
    auto pod = client_.Get<Pod>("default", name);
    EXPECT_TRUE(pod) << pod.error().ToString();
    return pod ? *pod : Pod{};
  }
  std::vector<std::string> Events(const std::string& reason) {
    std::vector<std::string> messages;
    const auto events = client_.Dynamic({"", "v1", "Event", "events", true}).List("default");
    EXPECT_TRUE(events);
    for (const json::Value& event : events->items)
      if (event["reason"].string_or("") == reason) messages.emplace_back(event["message"].string_or(""));
    return messages;
  }

  void MakePriorityClass(const std::string& name, std::int64_t value, const std::string& preemption) {
    const json::Value made = json::Object{{"apiVersion", "scheduling.k8s.io/v1"},
                                          {"kind", "PriorityClass"},
                                          {"metadata", json::Object{{"name", name}}},
                                          {"value", value},
                                          {"preemptionPolicy", preemption}};
    ASSERT_TRUE(
        client_.Dynamic({"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false}).Create(made));
  }

  int bindings_to_spoil_ = 0;
  SimExecutor executor_;
  Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<server::ApiServer> server_;
  Runtime runtime_;
  Client client_;
  std::unique_ptr<Manager> manager_;
};

}  // namespace flyball::scheduler
