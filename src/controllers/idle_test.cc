// In a cluster where nothing happens, the controllers send no requests.
#include <map>

#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

// Counts requests to the server by method and path.
class CountingTransport final : public net::Transport {
 public:
  explicit CountingTransport(std::shared_ptr<net::Transport> target) : target_(std::move(target)) {}
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    ++counts[request.method + " " + request.target.substr(0, request.target.find('?'))];
    return target_->Start(std::move(request), std::move(sink));
  }
  void OpenWebSocket(net::Request request, std::vector<std::string> protocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    target_->OpenWebSocket(std::move(request), std::move(protocols), std::move(done));
  }
  std::map<std::string, int> counts;

 private:
  const std::shared_ptr<net::Transport> target_;
};

TEST(IdleTest, NothingButRenewalsOfTheLease) {
  testing::ControlPlane plane;
  const auto transport = std::make_shared<CountingTransport>(plane.server->InProcess(
      {.name = "test", .uid = "", .groups = {"system:masters", "system:authenticated"}, .extra = {}}));
  const Client client(std::make_shared<RestClient>(transport, plane.runtime));
  plane.manager = std::make_unique<Manager>(client, ManagerOptions{.name = "kcm", .leader_election = true});
  ControllersOptions options;
  options.root_ca_pem = "-----BEGIN CERTIFICATE-----";
  ASSERT_TRUE(AddControllers(*plane.manager, options));
  ASSERT_TRUE(plane.manager->Start());
  plane.Create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
)");
  plane.Create(
      "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: "
      "web}, "
      "ports: [{port: 80}]}}");
  plane.Create(
      "{apiVersion: batch/v1, kind: CronJob, metadata: {name: c, namespace: default}, spec: {schedule: '0 0 "
      "1 1 "
      "*', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "
      "i}]}}}}}}");
  plane.Create(
      "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}, spec: "
      "{minAvailable: 1, selector: {matchLabels: {app: web}}}}");
  plane.Settle();
  plane.Run(10s);
  ASSERT_EQ(plane.Get<Deployment>("default", "web").status.available_replicas, 3);

  transport->counts.clear();
  plane.Run(60s);
  const std::string lease = "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/kcm";
  EXPECT_GT(transport->counts[lease], 20);
  transport->counts.erase(lease);
  for (const auto& [request, count] : transport->counts) ADD_FAILURE() << count << " x " << request;
}

}  // namespace
}  // namespace flyball::controllers
