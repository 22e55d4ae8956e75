#include "server/request/request_life.h"

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

// Runs what is posted when it is told to: what a busy worker looks like.
class HeldExecutor final : public Executor {
 public:
  explicit HeldExecutor(SimExecutor& sim) : sim_(sim) {}
  void Post(Closure fn) override { held_.push_back(std::move(fn)); }
  TimerId PostAt(SteadyTime when, Closure fn) override { return sim_.PostAt(when, std::move(fn)); }
  bool Cancel(TimerId id) override { return sim_.Cancel(id); }
  const Clock& clock() const override { return sim_.clock(); }

  std::size_t size() const { return held_.size(); }
  void RunAll() {
    for (auto& fn : std::exchange(held_, {})) sim_.Post(std::move(fn));
    sim_.RunReady();
  }

 private:
  SimExecutor& sim_;
  std::vector<Closure> held_;
};

std::string LargeConfigMap(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"("},"data":{"k":")" + std::string(100'000, 'x') + "\"}}";
}

// A server whose workers are held.
class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    ApiServerOptions options;
    options.workers = &workers_;
    server_ = std::move(*ApiServer::Make(options, *store_, sim_, random_, metrics_));
    admin_ = server_->InProcess({"admin", "", {std::string(kMastersGroup)}, {}});
  }
  std::shared_ptr<Reply> Do(std::string method, std::string target, std::string body = "",
                            std::string type = "application/json") {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers.Set("content-type", std::move(type));
    auto reply = std::make_shared<Reply>();
    calls_.push_back(admin_->Start(std::move(request), reply));
    sim_.RunReady();
    return reply;
  }

  const std::string kMaps = "/api/v1/namespaces/default/configmaps";
  SimExecutor sim_{1};
  HeldExecutor workers_{sim_};
  Random random_{1};
  Metrics metrics_;
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(sim_);
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<net::Transport> admin_;
  std::vector<std::shared_ptr<net::Call>> calls_;
};

TEST_F(WorkerTest, OnlyLargeWorkGoesToTheWorkers) {
  EXPECT_EQ(Do("POST", kMaps, R"({"metadata":{"name":"small"}})")->status, 201);
  const auto large = Do("POST", kMaps, LargeConfigMap("large"));
  EXPECT_EQ(large->status, 0);
  EXPECT_EQ(Do("GET", "/healthz")->status, 200);
  while (workers_.size() > 0) workers_.RunAll();
  EXPECT_EQ(large->status, 201);

  // A small patch of a large object is large work.
  const auto patch = Do("PATCH", kMaps + "/large", R"({"data":{"a":"b"}})", "application/merge-patch+json");
  EXPECT_EQ(patch->status, 0);
  while (workers_.size() > 0) workers_.RunAll();
  EXPECT_EQ(patch->status, 200);
  EXPECT_EQ(Do("GET", kMaps + "/small")->status, 200);
}

TEST_F(WorkerTest, AWriteWhoseClientWentAwayIsNotMade) {
  const auto large = Do("POST", kMaps, LargeConfigMap("gone"));
  calls_.back()->Cancel();
  while (workers_.size() > 0) workers_.RunAll();
  EXPECT_EQ(Do("GET", kMaps + "/gone")->status, 404);
}

TEST_F(WorkerTest, AWriteWhoseTimeIsUpIsNotMade) {
  const auto large = Do("POST", kMaps + "?timeout=10s", LargeConfigMap("late"));
  sim_.RunFor(std::chrono::seconds(11));
  EXPECT_EQ(large->status, 504);
  while (workers_.size() > 0) workers_.RunAll();
  EXPECT_EQ(Do("GET", kMaps + "/late")->status, 404);
}

TEST_F(WorkerTest, ListsThatNobodyWaitsForEnd) {
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(Do("POST", kMaps, R"({"metadata":{"name":"m)" + std::to_string(i) + "\"}}")->status, 201);
  const auto list = Do("GET", kMaps + "?labelSelector=a!%3Db");
  EXPECT_EQ(list->status, 0);
  calls_.back()->Cancel();
  while (workers_.size() > 0) workers_.RunAll();
  EXPECT_EQ(list->status, 0);
  const auto again = Do("GET", kMaps + "?labelSelector=a!%3Db");
  while (workers_.size() > 0) workers_.RunAll();
  EXPECT_EQ(again->status, 200);
  EXPECT_GE(again->value()["items"].size(), 200u);
}

}  // namespace
}  // namespace flyball::server
