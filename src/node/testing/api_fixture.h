// A test with the real API server in this process, on virtual time, and a client of it.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/run/sim_executor.h"
#include "client/client.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::node {

class ApiTest : public ::testing::Test {
 protected:
  ApiTest()
      : executor_(1),
        store_(store::NewMemoryStore(executor_)),
        server_(*server::ApiServer::Make({.admission = {.disable = {"ServiceAccount"}}}, *store_, executor_,
                                         executor_.random(), metrics_)),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        client_(std::make_shared<RestClient>(
            server_->InProcess({.name = "admin", .groups = {"system:masters", "system:authenticated"}}),
            runtime_)) {}
  ~ApiTest() override {
    server_->Stop();
    executor_.RunFor(std::chrono::minutes(1));
  }

  template <typename T>
  T Create(const T& object) {
    auto made = client_.Create(object);
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : T{};
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<server::ApiServer> server_;
  Runtime runtime_;
  Client client_;
};

}  // namespace flyball::node
