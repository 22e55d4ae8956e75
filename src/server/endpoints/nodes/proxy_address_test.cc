// proxy connects to pods, not to the machine that the API server runs on.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kProxySpace = "/api/v1/namespaces/default";
const char* const kMergePatchType = "application/merge-patch+json";

class ProxyAddressTest : public ServerFixture {
 protected:
  ProxyAddressTest() { Do("POST", kProxySpace + "/serviceaccounts", R"({"metadata":{"name":"default"}})"); }

  void MakePod(const std::string& ip, const std::string& node = "n", const std::string& labels = "{}") {
    const auto made =
        Do("POST", kProxySpace + "/pods",
           R"({"metadata":{"name":"p","labels":)" + labels + R"(},"spec":{"nodeName":")" + node +
               R"(","containers":[{"name":"c","image":"i","ports":[{"containerPort":9}]}]}})");
    ASSERT_EQ(made->status, 201) << made->body;
    const auto status = Do("PATCH", kProxySpace + "/pods/p/status",
                           R"({"status":{"phase":"Running","podIP":")" + ip + R"(","podIPs":[{"ip":")" + ip +
                               R"("}],"conditions":[{"type":"Ready","status":"True"}]}})",
                           kMergePatchType);
    ASSERT_EQ(status->status, 200) << status->body;
  }
  void MakeNode(const std::string& name, const std::string& ip) {
    Do("POST", "/api/v1/nodes", R"({"metadata":{"name":")" + name + R"("}})");
    const auto status = Do("PATCH", "/api/v1/nodes/" + name + "/status",
                           R"({"status":{"addresses":[{"type":"InternalIP","address":")" + ip +
                               R"("}],"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}}})",
                           kMergePatchType);
    ASSERT_EQ(status->status, 200) << status->body;
  }
  // What the server says to a request for the proxy before it connects anywhere; "" if it would connect.
  // Redirects to the path with a slash come once the address is allowed.
  std::string Refused(const std::string& path) {
    const auto reply = Do("GET", path);
    return reply->status == 301 ? "" : reply->message();
  }
};

TEST_F(ProxyAddressTest, LoopbackAndLinkLocalAddressesOfPodsAreRefused) {
  for (const std::string ip : {"127.0.0.1", "127.8.8.8", "169.254.169.254", "0.0.0.0", "224.0.0.1",
                               "255.255.255.255", "::1", "fe80::1", "ff02::1"}) {
    MakePod(ip);
    EXPECT_EQ(Refused(kProxySpace + "/pods/p/proxy"), "address not allowed") << ip;
    EXPECT_EQ(Refused(kProxySpace + "/pods/p:22/proxy"), "address not allowed") << ip;
    EXPECT_EQ(Refused(kProxySpace + "/pods/https:p:6443/proxy"), "address not allowed") << ip;
    Do("DELETE", kProxySpace + "/pods/p?gracePeriodSeconds=0");
  }
  MakePod("10.1.2.3");
  EXPECT_EQ(Refused(kProxySpace + "/pods/p/proxy"), "");
}

// The one exception: pods that share the network of a node which is on loopback itself, at ports they
// declare.
TEST_F(ProxyAddressTest, APodOnALoopbackNodeIsReachedAtItsOwnPorts) {
  MakeNode("n", "127.0.0.1");
  MakePod("127.0.0.1");
  EXPECT_EQ(Refused(kProxySpace + "/pods/p/proxy"), "");
  EXPECT_EQ(Refused(kProxySpace + "/pods/p:9/proxy"), "");
  EXPECT_EQ(Refused(kProxySpace + "/pods/p:22/proxy"), "address not allowed");
  MakeNode("n", "127.0.0.2");
  EXPECT_EQ(Refused(kProxySpace + "/pods/p:9/proxy"), "address not allowed");
}

TEST_F(ProxyAddressTest, AServicesPortIsHeldToTheSame) {
  MakeNode("n", "127.0.0.1");
  MakePod("127.0.0.1", "n", R"({"a":"b"})");
  const auto service = [&](const std::string& name, int target) {
    Do("POST", kProxySpace + "/services",
       R"({"metadata":{"name":")" + name +
           R"("},"spec":{"selector":{"a":"b"},"ports":[{"port":80,"targetPort":)" + std::to_string(target) +
           "}]}}");
    return Refused(kProxySpace + "/services/" + name + ":80/proxy");
  };
  EXPECT_EQ(service("declared", 9), "");
  EXPECT_EQ(service("ssh", 22), "no endpoints available for service \"ssh:80\"");
}

// Whoever may write EndpointSlices does not choose where the API server connects to.
TEST_F(ProxyAddressTest, AnEndpointThatIsNoPodIsNotConnectedTo) {
  MakePod("10.1.2.3");
  Do("POST", kProxySpace + "/services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})");
  const auto slice = [&](const std::string& name, const std::string& endpoint) {
    const auto made = Do(
        "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        R"({"metadata":{"name":")" + name +
            R"(","labels":{"kubernetes.io/service-name":"s"}},"addressType":"IPv4","ports":[{"name":"","port":80}],
                             "endpoints":[)" +
            endpoint + "]}");
    EXPECT_EQ(made->status, 201) << made->body;
    return Refused(kProxySpace + "/services/s:80/proxy");
  };
  const std::string none = "no endpoints available for service \"s:80\"";
  EXPECT_EQ(slice("a", R"({"addresses":["10.0.0.7"]})"), none);
  EXPECT_EQ(
      slice("b", R"({"addresses":["10.0.0.7"],"targetRef":{"kind":"Pod","namespace":"default","name":"p"}})"),
      none);
  EXPECT_EQ(
      slice("c", R"({"addresses":["10.1.2.3"],"targetRef":{"kind":"Pod","namespace":"other","name":"p"}})"),
      none);
  EXPECT_EQ(
      slice("d", R"({"addresses":["10.1.2.3"],"targetRef":{"kind":"Pod","namespace":"default","name":"q"}})"),
      none);
  EXPECT_EQ(
      slice("e", R"({"addresses":["10.1.2.3"],"targetRef":{"kind":"Pod","namespace":"default","name":"p"}})"),
      "");
}

TEST_F(ProxyAddressTest, OfALoopbackNodeOnlyItsOwnServerIsReached) {
  MakeNode("n", "127.0.0.1");
  EXPECT_EQ(Refused("/api/v1/nodes/n:22/proxy"), "address not allowed");
  EXPECT_EQ(Refused("/api/v1/nodes/http:n:2379/proxy"), "address not allowed");
  EXPECT_EQ(Refused("/api/v1/nodes/n/proxy"), "");
  MakeNode("m", "169.254.169.254");
  EXPECT_EQ(Refused("/api/v1/nodes/m/proxy"), "address not allowed");
  EXPECT_EQ(Refused("/api/v1/nodes/m:80/proxy"), "address not allowed");
}

}  // namespace
}  // namespace flyball::server
