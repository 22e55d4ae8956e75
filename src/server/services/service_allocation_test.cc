// Addresses and ports of Services, from one server and from two on one store.
#include <set>

#include "api/values/base64.h"
#include "json/json.h"
#include "server/services/port_bitmap.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class ServiceAllocationTest : public ServerFixture {
 protected:
  static constexpr const char* kServices = "/api/v1/namespaces/default/services";
  static constexpr const char* kAddresses = "/apis/networking.k8s.io/v1/ipaddresses";

  static std::string Service(const std::string& name, const std::string& spec) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"port":80}])" + spec + "}}";
  }
  // Another server on the same store.
  void StartOther() {
    other_server_ = std::move(*ApiServer::Make({}, *store_, sim_, random_, other_metrics_));
    other_ = other_server_->InProcess({"admin", "", {std::string(kMastersGroup)}, {}});
  }
  std::string AddressOf(const std::string& name) {
    return std::string(Get(std::string(kServices) + "/" + name)["spec"]["clusterIP"].string_or(""));
  }
  json::Value Get(const std::string& path) { return Do("GET", path)->value(); }
  PortBitmap StoredPortsNow() {
    const auto stored = store_->Get("/registry/ranges/servicenodeports");
    const auto value = json::Parse(*(*stored)->value);
    std::string bytes;
    std::size_t bad = 0;
    EXPECT_TRUE(api::DecodeBase64((*value)["data"].string_or(""), bytes, bad));
    return PortBitmap::FromBytes({30000, 32767}, bytes);
  }

  Metrics other_metrics_;
  std::unique_ptr<ApiServer> other_server_;
  std::unique_ptr<net::Transport> other_;
};

TEST_F(ServiceAllocationTest, AnAddressIsAnObjectAsLongAsTheServiceIs) {
  ASSERT_EQ(Do("POST", kServices, Service("a", ""))->status, 201);
  const std::string address = AddressOf("a");
  const auto object = Get(std::string(kAddresses) + "/" + address);
  EXPECT_EQ(json::Write(object["spec"]),
            R"({"parentRef":{"resource":"services","namespace":"default","name":"a"}})");
  EXPECT_EQ(json::Write(object["metadata"]["labels"]),
            R"({"ipaddress.kubernetes.io/ip-family":"IPv4",)"
            R"("ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"})");
  EXPECT_EQ(Do("DELETE", std::string(kServices) + "/a")->status, 200);
  EXPECT_EQ(Do("GET", std::string(kAddresses) + "/" + address)->status, 404);
}

TEST_F(ServiceAllocationTest, WhatIsGivenUpIsFree) {
  ASSERT_EQ(Do("POST", kServices, Service("a", R"(,"clusterIP":"10.0.0.7")"))->status, 201);
  const auto second = Do("POST", kServices, Service("b", R"(,"clusterIP":"10.0.0.7")"));
  EXPECT_EQ(second->status, 422);
  EXPECT_NE(second->body.find("provided IP is already allocated"), std::string::npos);
  const std::string external = R"({"spec":{"type":"ExternalName","externalName":"x.y","clusterIP":null,)"
                               R"("clusterIPs":null,"ports":null}})";
  const auto changed = Do("PATCH", std::string(kServices) + "/a", external, "application/merge-patch+json");
  ASSERT_EQ(changed->status, 200) << changed->body;
  EXPECT_EQ(Do("POST", kServices, Service("b", R"(,"clusterIP":"10.0.0.7")"))->status, 201);
}

TEST_F(ServiceAllocationTest, ADryRunTakesNothing) {
  ASSERT_EQ(Do("POST", std::string(kServices) + "?dryRun=All", Service("a", R"(,"type":"NodePort")"))->status,
            201);
  EXPECT_EQ(Get(kAddresses)["items"].size(), 0u);
  EXPECT_EQ(StoredPortsNow().used_count(), 0);
}

TEST_F(ServiceAllocationTest, PortsInUseAreStored) {
  ASSERT_EQ(Do("POST", kServices, Service("a", R"(,"type":"LoadBalancer","externalTrafficPolicy":"Local")"))
                ->status,
            201);
  const auto spec = Get(std::string(kServices) + "/a")["spec"];
  const auto port = static_cast<int>(spec["ports"].as_array()[0]["nodePort"].int_or(0));
  EXPECT_GE(port, 30086);  // those below are for who asks for them
  EXPECT_TRUE(StoredPortsNow().Has(port));
  EXPECT_TRUE(StoredPortsNow().Has(static_cast<int>(spec["healthCheckNodePort"].int_or(0))));
  const auto taken = R"(,"type":"NodePort","clusterIP":"10.0.0.9")" + std::string();
  auto wanted = json::Parse(Service("b", taken));
  (*wanted)["spec"]["ports"].as_array()[0]["nodePort"] = port;
  const auto refused = Do("POST", kServices, json::Write(*wanted));
  EXPECT_NE(refused->body.find("provided port is already allocated"), std::string::npos) << refused->body;
  EXPECT_EQ(Do("GET", std::string(kAddresses) + "/10.0.0.9")->status, 404);
  Do("DELETE", std::string(kServices) + "/a");
  EXPECT_EQ(StoredPortsNow().used_count(), 0);
}

TEST_F(ServiceAllocationTest, TwoServersNeverGiveOutTheSame) {
  StartOther();
  std::vector<std::shared_ptr<Reply>> replies;
  for (int i = 0; i < 40; ++i)
    for (auto* transport : {admin_.get(), other_.get()}) {
      net::Request request;
      request.method = "POST";
      request.target = kServices;
      request.body = Service("s" + std::to_string(replies.size()), R"(,"type":"NodePort")");
      request.headers.Set("content-type", "application/json");
      replies.push_back(std::make_shared<Reply>());
      calls_.push_back(transport->Start(std::move(request), replies.back()));
    }
  sim_.RunReady();
  std::set<std::string> addresses;
  std::set<std::int64_t> ports;
  for (const auto& reply : replies) {
    ASSERT_EQ(reply->status, 201) << reply->body;
    addresses.emplace(reply->value()["spec"]["clusterIP"].string_or(""));
    ports.insert(reply->value()["spec"]["ports"].as_array()[0]["nodePort"].int_or(0));
  }
  EXPECT_EQ(addresses.size(), replies.size());
  EXPECT_EQ(ports.size(), replies.size());
  EXPECT_EQ(StoredPortsNow().used_count(), 80);
}

TEST_F(ServiceAllocationTest, AStartMendsWhatIsMissing) {
  ASSERT_EQ(Do("POST", kServices, Service("a", R"(,"type":"NodePort")"))->status, 201);
  const std::string address = AddressOf("a");
  ASSERT_EQ(Do("DELETE", std::string(kAddresses) + "/" + address)->status, 200);
  StartOther();
  sim_.RunReady();
  EXPECT_EQ(Do("GET", std::string(kAddresses) + "/" + address)->status, 200);
  EXPECT_EQ(StoredPortsNow().used_count(), 1);
}

}  // namespace
}  // namespace flyball::server
