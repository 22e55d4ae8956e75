#include "node/runtime/pod_names.h"

#include <gtest/gtest.h>

namespace flyball::node {
namespace {

const char kMachine[] =
    "# made by somebody\nnameserver 9.9.9.9\nsearch example.com lan.\noptions timeout:1\n";
const ClusterDns kDns{.servers = {"10.96.0.10"}};

Pod Named(const std::string& policy) {
  Pod pod{.metadata = {.name = "web", .namespace_ = "shop"}};
  pod.spec.dns_policy = policy;
  return pod;
}

TEST(PodNamesTest, AsksTheClusterFirst) {
  const char* const wanted =
      "search shop.svc.cluster.local svc.cluster.local cluster.local example.com lan\n"
      "nameserver 10.96.0.10\noptions ndots:5\n";
  EXPECT_EQ(ResolvText(Named("ClusterFirst"), kDns, kMachine), wanted);
  Pod shared = Named("ClusterFirst");
  shared.spec.host_network = true;
  const char* const machines = "search example.com lan\nnameserver 9.9.9.9\noptions timeout:1\n";
  EXPECT_EQ(ResolvText(shared, kDns, kMachine), machines);
  shared.spec.dns_policy = "ClusterFirstWithHostNet";
  EXPECT_EQ(ResolvText(shared, kDns, kMachine), wanted);
  EXPECT_EQ(ResolvText(Named("Default"), kDns, kMachine), machines);
  EXPECT_EQ(ResolvText(Named("ClusterFirst"), {}, kMachine), machines);
}

TEST(PodNamesTest, MergesWhatThePodSays) {
  Pod pod = Named("ClusterFirst");
  pod.spec.dns_config = PodDNSConfig{.nameservers = {"1.1.1.1", "10.96.0.10"},
                                     .searches = {"svc.cluster.local", "own.example"},
                                     .options = {{.name = "ndots", .value = "2"}, {.name = "edns0"}}};
  EXPECT_EQ(ResolvText(pod, kDns, ""),
            "search shop.svc.cluster.local svc.cluster.local cluster.local own.example\n"
            "nameserver 10.96.0.10\nnameserver 1.1.1.1\noptions ndots:2 edns0\n");
  pod.spec.dns_policy = "None";
  EXPECT_EQ(ResolvText(pod, kDns, kMachine),
            "search svc.cluster.local own.example\nnameserver 1.1.1.1\nnameserver 10.96.0.10\n"
            "options ndots:2 edns0\n");
}

TEST(PodNamesTest, KnowsItselfByItsFullName) {
  Pod pod = Named("ClusterFirst");
  pod.spec.hostname = "first";
  pod.spec.subdomain = "peers";
  const std::string hosts = HostsText(pod, {"10.244.0.5"}, kDns, "");
  EXPECT_NE(hosts.find("10.244.0.5\tfirst.peers.shop.svc.cluster.local\tfirst\n"), std::string::npos)
      << hosts;
}

}  // namespace
}  // namespace flyball::node
