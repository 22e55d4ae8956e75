#include "network/ingress/route_table.h"

#include <gtest/gtest.h>

#include "network/ingress/backend_pool.h"

namespace flyball::network {
namespace {

IngressBackend BackendOf(const std::string& service, int port = 80) {
  IngressBackend backend;
  backend.service = IngressServiceBackend{.name = service, .port = {.number = port}};
  return backend;
}

class RouteTableTest : public ::testing::Test {
 protected:
  Ingress& Add(const std::string& name) {
    auto ingress = std::make_shared<Ingress>();
    ingress->metadata.namespace_ = "default";
    ingress->metadata.name = name;
    ingresses_.push_back(ingress);
    return *ingress;
  }
  static void Rule(Ingress& ingress, const std::string& host, const std::string& path,
                   const std::string& type, const std::string& service) {
    IngressRule rule{.host = host};
    rule.http =
        HTTPIngressRuleValue{.paths = {{.path = path, .backend = BackendOf(service), .path_type = type}}};
    ingress.spec.rules.push_back(std::move(rule));
  }
  std::string Find(const std::string& host, const std::string& path) {
    const RouteTable table({ingresses_.begin(), ingresses_.end()});
    const BackendRef* ref = table.Find(host, path);
    return ref ? ref->service : "-";
  }
  std::vector<std::shared_ptr<Ingress>> ingresses_;
};

TEST_F(RouteTableTest, ExactAndPrefixPaths) {
  Ingress& one = Add("one");
  Rule(one, "", "/", "Prefix", "root");
  Rule(one, "", "/foo", "Exact", "exact");
  Rule(one, "", "/foo/", "Prefix", "foo");
  Rule(one, "", "/foo/bar", "ImplementationSpecific", "bar");
  EXPECT_EQ(Find("x", "/"), "root");
  EXPECT_EQ(Find("x", "/foo"), "exact");
  EXPECT_EQ(Find("x", "/foo/"), "foo");
  EXPECT_EQ(Find("x", "/foo/x"), "foo");
  EXPECT_EQ(Find("x", "/foo/bar/x"), "bar");
  EXPECT_EQ(Find("x", "/foo/barbar"), "foo");
  EXPECT_EQ(Find("x", "/foobar"), "root");
}

TEST_F(RouteTableTest, HostsWildcardsAndAll) {
  Ingress& one = Add("one");
  Rule(one, "", "/", "Prefix", "all");
  Rule(one, "*.example.com", "/", "Prefix", "wildcard");
  Rule(one, "Web.example.com", "/app", "Prefix", "web");
  EXPECT_EQ(Find("WEB.example.com:8080", "/app"), "web");
  EXPECT_EQ(Find("web.example.com", "/other"), "-") << "the host has rules, and none of them is for this";
  EXPECT_EQ(Find("a.example.com.", "/"), "wildcard");
  EXPECT_EQ(Find("a.b.example.com", "/"), "all") << "a wildcard is one label";
  EXPECT_EQ(Find("example.com", "/"), "all");
  EXPECT_EQ(Find("", "/"), "all");
  EXPECT_EQ(Find("[::1]:80", "/"), "all");
}

TEST_F(RouteTableTest, DefaultBackends) {
  Ingress& one = Add("one");
  Rule(one, "web.example", "/app", "Prefix", "web");
  one.spec.default_backend = BackendOf("ones");
  EXPECT_EQ(Find("web.example", "/x"), "ones");
  EXPECT_EQ(Find("other.example", "/x"), "-") << "the default of an Ingress with rules is for its hosts";
  Add("two").spec.default_backend = BackendOf("everybodys");
  EXPECT_EQ(Find("other.example", "/x"), "everybodys");
  EXPECT_EQ(Find("web.example", "/x"), "ones");
}

TEST_F(RouteTableTest, TheOlderIngressWins) {
  Ingress& young = Add("a");
  Rule(young, "web.example", "/", "Prefix", "young");
  young.metadata.creation_timestamp = api::Time{.seconds = 200};
  Ingress& old = Add("b");
  Rule(old, "web.example", "/", "Prefix", "old");
  old.metadata.creation_timestamp = api::Time{.seconds = 100};
  EXPECT_EQ(Find("web.example", "/"), "old");
}

TEST(EndpointUrlsTest, ReadyEndpointsOfTheNamedPort) {
  Service service;
  service.spec.ports = {{.name = "http", .port = 80}, {.name = "grpc", .port = 90}};
  service.spec.ports[1].app_protocol = "kubernetes.io/h2c";
  auto slice = std::make_shared<EndpointSlice>();
  slice->address_type = "IPv4";
  slice->ports = {{.name = "http", .port = 8080}, {.name = "grpc", .port = 9090}};
  for (const char* ip : {"10.0.0.2", "10.0.0.1", "10.0.0.3"}) slice->endpoints.push_back({.addresses = {ip}});
  slice->endpoints[2].conditions.ready = false;
  using Urls = std::vector<std::string>;
  EXPECT_EQ(EndpointUrls({.port = 80}, service, {slice}),
            (Urls{"http://10.0.0.1:8080", "http://10.0.0.2:8080"}));
  EXPECT_EQ(EndpointUrls({.port_name = "grpc"}, service, {slice}),
            (Urls{"h2c://10.0.0.1:9090", "h2c://10.0.0.2:9090"}));
  EXPECT_TRUE(EndpointUrls({.port = 81}, service, {slice}).empty());
}

}  // namespace
}  // namespace flyball::network
