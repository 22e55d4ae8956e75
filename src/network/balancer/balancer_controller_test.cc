#include "network/balancer/balancer_controller.h"

#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"
#include "json/yaml/yaml.h"

namespace flyball::network {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr char kServices[] = "/api/v1/services";

class BalancerControllerTest : public ::testing::Test {
 protected:
  BalancerControllerTest()
      : server_(std::make_shared<flyball::testing::FakeApiServer>(executor_, executor_.random())),
        manager_(Client(std::make_shared<RestClient>(server_, Runtime{.executor = executor_,
                                                                      .random = executor_.random(),
                                                                      .metrics = metrics_,
                                                                      .may_block = false}))) {}
  ~BalancerControllerTest() override {
    manager_.Stop();
    executor_.RunFor(1min);
  }

  void Start() {
    const BalancerOptions options{.pool = {.ranges = {}, .shared = {*api::ParseIp("198.51.100.2")}},
                                  .link = {}};
    ASSERT_TRUE(AddBalancerController(manager_, options));
    ASSERT_TRUE(manager_.Start());
    executor_.RunFor(1s);
  }
  void Put(const std::string& name, const std::string& spec, const std::string& status = "{}") {
    server_->Put(kServices, *json::ParseYaml("metadata: {namespace: default, name: " + name +
                                             "}\nspec: " + spec + "\nstatus: " + status));
    executor_.RunFor(1s);
  }
  std::string AddressOf(const std::string& name) {
    const json::Value service = *server_->Find(kServices, "default", name);
    const json::Value* ingress = service["status"]["loadBalancer"].Find("ingress");
    return ingress && !ingress->empty() ? std::string(ingress->as_array()[0]["ip"].string_or("")) : "none";
  }

  SimExecutor executor_{1};
  Metrics metrics_;
  const std::shared_ptr<flyball::testing::FakeApiServer> server_;
  Manager manager_;
};

constexpr char kBalancer[] = "{type: LoadBalancer, ports: [{port: 80}]}";

TEST_F(BalancerControllerTest, WritesAddressesIntoTheStatus) {
  Put("a", kBalancer);
  Start();
  EXPECT_EQ(AddressOf("a"), "198.51.100.2");
  // The next one has to wait until the port is free.
  Put("b", kBalancer);
  EXPECT_EQ(AddressOf("b"), "none");
  server_->Remove(kServices, "default", "a");
  executor_.RunFor(1s);
  EXPECT_EQ(AddressOf("b"), "198.51.100.2");
}

TEST_F(BalancerControllerTest, TakesAddressesBackThatAreItsOwn) {
  Start();
  Put("former", "{type: ClusterIP}", "{loadBalancer: {ingress: [{ip: 198.51.100.2}]}}");
  EXPECT_EQ(AddressOf("former"), "none");
  Put("others", "{type: LoadBalancer, loadBalancerClass: example.com/x}",
      "{loadBalancer: {ingress: [{ip: 198.51.100.2}]}}");
  EXPECT_EQ(AddressOf("others"), "198.51.100.2");
}

}  // namespace
}  // namespace flyball::network
