#include "server/forward/service_endpoints.h"

#include <set>

#include "api/schema/feature_gates.h"
#include "server/cache/watch_cache.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kServiceSpace = "/api/v1/namespaces/default";
const std::string kSlices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

// Reads through a catalog of its own on the server's store.
class ServiceEndpointsTest : public ServerFixture {
 protected:
  void Make(const std::string& path, const std::string& object) {
    const auto made = Do("POST", path, object);
    ASSERT_EQ(made->status, 201) << made->body;
  }
  void MakeService(const std::string& spec) {
    Make(kServiceSpace + "/services", R"({"metadata":{"name":"s"},"spec":)" + spec + "}");
  }
  void MakeSlice(const std::string& name, const std::string& type, const std::string& ports,
                 const std::string& endpoints) {
    Make(kSlices, R"({"metadata":{"name":")" + name +
                      R"(","labels":{"kubernetes.io/service-name":"s"}},"addressType":")" + type +
                      R"(","ports":)" + ports + R"(,"endpoints":)" + endpoints + "}");
  }
  Result<ServiceAddress> Resolve(std::int64_t port) {
    WatchCache cache(*store_, sim_);
    const auto catalog = *Catalog::Make(cache, RuntimeConfig(api::ProcessGates().minor()));
    return ResolveService(*catalog, random_, "default", "s", port);
  }
  std::set<std::string> Seen(std::int64_t port) {
    std::set<std::string> urls;
    for (int i = 0; i < 20; ++i) urls.insert(Resolve(port)->Url());
    return urls;
  }
};

TEST_F(ServiceEndpointsTest, AReadyEndpointOfThePortByItsName) {
  MakeService(R"({"ports":[{"name":"a","port":443},{"name":"b","port":80}]})");
  EXPECT_EQ(Resolve(443).error().message(), "no endpoints available for service \"s\"");
  EXPECT_EQ(Resolve(443).error().code(), 503);
  EXPECT_EQ(Resolve(7).error().message(), "no service port 7 found for service \"s\"");
  MakeSlice("one", "IPv4", R"([{"name":"a","port":8443},{"name":"b","port":8080}])",
            R"([{"addresses":["10.1.0.1"]},{"addresses":["10.1.0.2"],"conditions":{"ready":false}},
                {"addresses":["10.1.0.3"],"conditions":{"ready":true}}])");
  EXPECT_EQ(Seen(443), (std::set<std::string>{"https://10.1.0.1:8443", "https://10.1.0.3:8443"}));
  EXPECT_EQ(Seen(80), (std::set<std::string>{"https://10.1.0.1:8080", "https://10.1.0.3:8080"}));
}

TEST_F(ServiceEndpointsTest, TheServicesFirstFamilyIsPreferred) {
  MakeService(R"({"ports":[{"port":443}]})");
  MakeSlice("a6", "IPv6", R"([{"name":"","port":1}])", R"([{"addresses":["fd00::1"]}])");
  EXPECT_EQ(Seen(443), (std::set<std::string>{"https://[fd00::1]:1"}));
  MakeSlice("b4", "IPv4", R"([{"name":"","port":2}])", R"([{"addresses":["10.1.0.1"]}])");
  EXPECT_EQ(Seen(443), (std::set<std::string>{"https://10.1.0.1:2"}));
}

TEST_F(ServiceEndpointsTest, AnExternalNameIsReachedAtThePortThatIsAskedFor) {
  EXPECT_EQ(Resolve(443).error().message(), "service \"s\" not found");
  MakeService(R"({"type":"ExternalName","externalName":"api.example.com"})");
  EXPECT_EQ(Resolve(7443)->Url(), "https://api.example.com:7443");
}

}  // namespace
}  // namespace flyball::server
