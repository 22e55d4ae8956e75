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

class DualStackServiceTest : public ServerFixture {
 protected:
  static constexpr const char* kServices = "/api/v1/namespaces/default/services";

  DualStackServiceTest() : ServerFixture(Options("10.0.0.0/24,fd00:1::/112")) {}
  static ApiServerOptions Options(const std::string& ranges) {
    ApiServerOptions options;
    options.service_cluster_ip_range = ranges;
    return options;
  }
  std::shared_ptr<Reply> Create(const std::string& name, const std::string& spec) {
    return Do("POST", kServices,
              R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"port":80}])" + spec + "}}");
  }
  std::shared_ptr<Reply> Patch(const std::string& name, const std::string& spec) {
    return Do("PATCH", std::string(kServices) + "/" + name, R"({"spec":)" + spec + "}",
              "application/merge-patch+json");
  }
  // "SingleStack IPv4 10.0.0.7": without the part of an address that is drawn.
  static std::string Families(const Reply& reply) {
    const auto spec = reply.value()["spec"];
    std::string text(spec["ipFamilyPolicy"].string_or("-"));
    for (const char* field : {"ipFamilies", "clusterIPs"})
      for (std::size_t i = 0; i < spec[field].size(); ++i) {
        const std::string item(spec[field].as_array()[i].string_or(""));
        text += " " + (item.starts_with("10.0.0.") ? "v4" : item.starts_with("fd00:1::") ? "v6" : item);
      }
    return text;
  }
  std::size_t AddressCount() {
    return Do("GET", "/apis/networking.k8s.io/v1/ipaddresses")->value()["items"].size();
  }
};

TEST_F(DualStackServiceTest, AServiceHasTheFamiliesItAsksFor) {
  EXPECT_EQ(Families(*Create("a", "")), "SingleStack IPv4 v4");
  EXPECT_EQ(Families(*Create("b", R"(,"ipFamilyPolicy":"PreferDualStack")")),
            "PreferDualStack IPv4 IPv6 v4 v6");
  EXPECT_EQ(Families(*Create("c", R"(,"ipFamilyPolicy":"RequireDualStack","ipFamilies":["IPv6"])")),
            "RequireDualStack IPv6 IPv4 v6 v4");
  EXPECT_EQ(Families(*Create("d", R"(,"ipFamilies":["IPv6"])")), "SingleStack IPv6 v6");
  EXPECT_EQ(Families(*Create("e", R"(,"clusterIP":"fd00:1::77")")), "SingleStack IPv6 v6");
  EXPECT_EQ(Families(*Create("f", R"(,"clusterIP":"None","selector":{"a":"b"})")), "SingleStack IPv4 None");
  EXPECT_EQ(Families(*Create("g", R"(,"clusterIP":"None")")), "RequireDualStack IPv4 IPv6 None");
  EXPECT_EQ(AddressCount(), 7u);
}

TEST_F(DualStackServiceTest, TheSecondAddressComesAndGoes) {
  Create("a", "");
  EXPECT_EQ(Families(*Patch("a", R"({"ipFamilyPolicy":"PreferDualStack"})")),
            "PreferDualStack IPv4 IPv6 v4 v6");
  EXPECT_EQ(AddressCount(), 2u);
  const auto kept = Patch("a", R"({"sessionAffinity":"ClientIP"})");
  EXPECT_EQ(Families(*kept), "PreferDualStack IPv4 IPv6 v4 v6");
  EXPECT_EQ(Families(*Patch("a", R"({"ipFamilyPolicy":"SingleStack"})")), "SingleStack IPv4 v4");
  EXPECT_EQ(AddressCount(), 1u);
  EXPECT_EQ(Families(*Patch("a", R"({"ipFamilyPolicy":"RequireDualStack","ipFamilies":["IPv4","IPv6"]})")),
            "RequireDualStack IPv4 IPv6 v4 v6");
  EXPECT_EQ(Do("DELETE", std::string(kServices) + "/a")->status, 200);
  EXPECT_EQ(AddressCount(), 0u);
}

TEST_F(DualStackServiceTest, RefusesWhatDoesNotFitTogether) {
  const auto two = Create("a", R"(,"ipFamilyPolicy":"SingleStack","ipFamilies":["IPv4","IPv6"])");
  EXPECT_NE(two->message().find("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families"),
            std::string::npos)
      << two->body;
  const auto outside = Create("a", R"(,"clusterIP":"fd00:2::1")");
  EXPECT_NE(outside->message().find("The range of valid IPs is fd00:1::/112"), std::string::npos)
      << outside->body;
  EXPECT_EQ(AddressCount(), 0u);
}

TEST_F(DualStackServiceTest, TheRangesOfTheFlagAreOneOfEachFamily) {
  const auto error = [&](const std::string& ranges) {
    const auto made = ApiServer::Make(Options(ranges), *store_, sim_, random_, metrics_);
    return made ? std::string() : made.error().message();
  };
  EXPECT_EQ(error("10.0.0.0/24,10.1.0.0/24"),
            "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family");
  EXPECT_EQ(error("10.0.0.0/24,fd00::/112,fd01::/112"),
            "--service-cluster-ip-range must not contain more than two entries");
  EXPECT_EQ(error(""), "--service-cluster-ip-range must contain at least one valid cidr");
  EXPECT_NE(error("10.0.0.0/24,fd00::/32"), "");
}

TEST_F(ServiceAllocationTest, OneFamilyIsAllThereIs) {
  const auto refused = [&](const std::string& spec) {
    return Do("POST", kServices, Service("a", spec))->message();
  };
  EXPECT_NE(refused(R"(,"ipFamilyPolicy":"RequireDualStack")")
                .find("this cluster is not configured for dual-stack services"),
            std::string::npos);
  EXPECT_NE(refused(R"(,"ipFamilies":["IPv6"])")
                .find("spec.ipFamilies[0]: Invalid value: \"IPv6\": not "
                      "configured on this cluster"),
            std::string::npos);
  EXPECT_NE(refused(R"(,"clusterIP":"fd00::1")").find("IPv6 is not configured on this cluster"),
            std::string::npos);
}

}  // namespace
}  // namespace flyball::server
