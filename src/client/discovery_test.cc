#include "client/discovery.h"

#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

constexpr char kCoreGroup[] =
    R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
  {"metadata":{"name":""},"versions":[{"version":"v1","resources":[{"resource":"pods","scope":"Namespaced",
   "singularResource":"pod","verbs":["list"],"responseKind":{"group":"","version":"v1","kind":"Pod"}}]}]}]})";
constexpr char kNoGroups[] =
    R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]})";

// Calls a function before every request it passes on.
class Interrupted final : public net::Transport {
 public:
  explicit Interrupted(std::shared_ptr<net::Transport> to) : to_(std::move(to)) {}
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    if (before) before();
    return to_->Start(std::move(request), std::move(sink));
  }
  void OpenWebSocket(net::Request request, std::vector<std::string> protocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    to_->OpenWebSocket(std::move(request), std::move(protocols), std::move(done));
  }
  std::function<void()> before;

 private:
  const std::shared_ptr<net::Transport> to_;
};

class RestMapperTest : public ::testing::Test {
 protected:
  RestMapperTest()
      : executor_(7),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        transport_(std::make_shared<Interrupted>(server_)),
        mapper_(Client(std::make_shared<RestClient>(
            transport_,
            Runtime{
                .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
            RestOptions{}))) {}
  void Serve(const char* core) {
    server_->AnswerNext("GET", "/api", 200, core);
    server_->AnswerNext("GET", "/apis", 200, kNoGroups);
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  std::shared_ptr<Interrupted> transport_;
  RestMapper mapper_;
};

TEST_F(RestMapperTest, WhatWasReadIsKept) {
  Serve(kCoreGroup);
  ASSERT_EQ(mapper_.Resources().value().size(), 1u);
  EXPECT_EQ(mapper_.Resources().value().size(), 1u);
  EXPECT_EQ(server_->log().size(), 2u);
}

// The reset says that something has changed; an answer that was under way may be from before.
TEST_F(RestMapperTest, WhatWasBeingReadDuringAResetIsNotKept) {
  Serve(kNoGroups);
  transport_->before = [this] { mapper_.Reset(); };
  EXPECT_EQ(mapper_.Resources().value().size(), 0u);
  transport_->before = nullptr;
  Serve(kCoreGroup);
  EXPECT_EQ(mapper_.Resources().value().size(), 1u);
}

}  // namespace
}  // namespace flyball
