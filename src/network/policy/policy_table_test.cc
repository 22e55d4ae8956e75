#include "network/policy/policy_table.h"

#include <gmock/gmock.h>

#include "network/nft/nftables.h"
#include "network/testing/objects.h"
#include "network/testing/small_network.h"

namespace flyball::network {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two pods of the node, a and b, and a stranger; each answers at 80 and 81.
class PolicyTableTest : public ::testing::Test {
 protected:
  PolicyTableTest() {
    a_ = network_.AddHost("pod-a", {"10.1.0.2"});
    b_ = network_.AddHost("pod-b", {"10.1.0.3"});
    stranger_ = network_.AddHost("outside", {"192.0.2.9"}, {"192.0.2.1"});
    for (const auto& [host, name, ip] :
         {std::tuple(a_, "a", "10.1.0.2"), {b_, "b", "10.1.0.3"}, {stranger_, "s", "192.0.2.9"}})
      for (const int port : {80, 81}) {
        servers_.push_back(std::make_unique<AnsweringServer>(host, name, ip, port));
        servers_.push_back(std::make_unique<AnsweringServer>(host, name, ip, port, SOCK_DGRAM));
      }
    EXPECT_TRUE(network_.node()->Run([&]() -> Status {
      nft_ = std::move(*Nftables::Open());
      return {};
    }));
    const std::map<std::string, std::string> team{{"team", "red"}};
    table_.SetNamespace("default", &team);
    SetPod("a", "10.1.0.2", "app: a");
    SetPod("b", "10.1.0.3", "app: b");
    Run(table_.RenderReplacement());
  }

  void SetPod(const std::string& name, const std::string& ip, const std::string& labels) {
    table_.SetPod("default/" + name,
                  PolicyPodFrom(ObjectFrom<Pod>("metadata: {namespace: default, name: " + name +
                                                ", labels: {" + labels +
                                                "}}\nspec: {nodeName: node-1, containers: [{name: c, "
                                                "ports: [{name: web, containerPort: 80}]}]}\n"
                                                "status: {podIP: " +
                                                ip + "}"),
                                "node-1"));
  }
  void SetPolicy(const std::string& spec) {
    const auto policy = ObjectFrom<NetworkPolicy>("metadata: {namespace: default, name: p}\nspec: " + spec);
    table_.SetPolicy("default/p", &policy);
    Run(table_.RenderChanges());
  }
  void Run(const std::string& text) {
    const Status done = nft_->Run(text);
    ASSERT_TRUE(done) << done.error().message() << text;
  }
  // With patience: the machine may be busy.
  bool Reaches(const NetworkNamespace::Ptr& from, const std::string& to, int port, int type = SOCK_STREAM) {
    const std::string answer = AskOnce(from, to, port, type, 0, 5000);
    return answer.find(' ') != std::string::npos && answer.find('.') != std::string::npos;
  }
  bool IsKeptFrom(const NetworkNamespace::Ptr& from, const std::string& to, int port,
                  int type = SOCK_STREAM) {
    return AskOnce(from, to, port, type, 0, 250) == "timeout";
  }

  SmallNetwork network_;
  NetworkNamespace::Ptr a_, b_, stranger_;
  std::vector<std::unique_ptr<AnsweringServer>> servers_;
  std::unique_ptr<Nftables> nft_;
  PolicyTable table_{{}};
};

TEST_F(PolicyTableTest, NobodyIsIsolatedWithoutAPolicy) {
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
  EXPECT_TRUE(Reaches(stranger_, "10.1.0.3", 80));
  EXPECT_TRUE(Reaches(b_, "192.0.2.9", 80));
}

TEST_F(PolicyTableTest, DefaultDenyOfIngressLetsInOnlyTheNode) {
  SetPolicy("{podSelector: {}, policyTypes: [Ingress]}");
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));
  EXPECT_TRUE(IsKeptFrom(stranger_, "10.1.0.3", 80));
  EXPECT_TRUE(IsKeptFrom(stranger_, "10.1.0.3", 80, SOCK_DGRAM));
  EXPECT_TRUE(Reaches(network_.node(), "10.1.0.3", 80));
  EXPECT_TRUE(Reaches(b_, "192.0.2.9", 80));
  EXPECT_TRUE(Reaches(b_, "192.0.2.9", 80, SOCK_DGRAM));  // and its answer

  table_.SetPolicy("default/p", nullptr);
  Run(table_.RenderChanges());
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
  Run(table_.RenderStaleChains());
}

TEST_F(PolicyTableTest, DefaultDenyOfEgressAlsoClosesTheNode) {
  AnsweringServer node(network_.node(), "node", "192.0.2.1", 80);
  EXPECT_TRUE(Reaches(b_, "192.0.2.1", 80));
  SetPolicy("{podSelector: {matchLabels: {app: b}}, policyTypes: [Egress]}");
  EXPECT_TRUE(IsKeptFrom(b_, "192.0.2.1", 80));
  EXPECT_TRUE(IsKeptFrom(b_, "10.1.0.2", 80));
  EXPECT_TRUE(IsKeptFrom(b_, "192.0.2.9", 80, SOCK_DGRAM));
  EXPECT_TRUE(Reaches(a_, "192.0.2.9", 80));
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
  EXPECT_TRUE(Reaches(b_, "10.1.0.3", 80));  // itself
}

TEST_F(PolicyTableTest, PeersArePodsOfNamespacesAndFollowTheirLabels) {
  SetPolicy(
      "{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: "
      "red}}, "
      "podSelector: {matchLabels: {app: a}}}]}]}");
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
  EXPECT_TRUE(IsKeptFrom(stranger_, "10.1.0.3", 80));
  SetPod("a", "10.1.0.2", "app: other");
  Run(table_.RenderChanges());
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));
  SetPod("a", "10.1.0.2", "app: a");
  const std::map<std::string, std::string> blue{{"team", "blue"}}, red{{"team", "red"}};
  table_.SetNamespace("default", &blue);
  Run(table_.RenderChanges());
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));
  table_.SetNamespace("default", &red);
  Run(table_.RenderChanges());
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
}

TEST_F(PolicyTableTest, BlocksHaveExceptions) {
  SetPolicy(
      "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 192.0.2.0/24, except: [192.0.2.8/30]}}]}]}");
  EXPECT_TRUE(IsKeptFrom(stranger_, "10.1.0.3", 80));
  SetPolicy(
      "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 192.0.2.0/24, except: [192.0.2.128/25]}}]}]}");
  EXPECT_TRUE(Reaches(stranger_, "10.1.0.3", 80));
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));
}

TEST_F(PolicyTableTest, PortsAreNumbersRangesAndNames) {
  SetPolicy("{podSelector: {}, ingress: [{ports: [{port: 81}]}]}");
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 81));
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 81, SOCK_DGRAM));
  SetPolicy("{podSelector: {}, ingress: [{ports: [{protocol: UDP, port: 80, endPort: 90}, {port: web}]}]}");
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 81));
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 81, SOCK_DGRAM));
  SetPolicy(
      "{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: web}], to: [{podSelector: {}}]}]}");
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 81));
  EXPECT_TRUE(IsKeptFrom(a_, "192.0.2.9", 80));
}

TEST_F(PolicyTableTest, PoliciesAddUp) {
  SetPolicy("{podSelector: {}, policyTypes: [Ingress, Egress]}");
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));
  const auto egress = ObjectFrom<NetworkPolicy>(
      "metadata: {namespace: default, name: q}\nspec: {podSelector: {}, policyTypes: [Egress], egress: "
      "[{}]}");
  table_.SetPolicy("default/q", &egress);
  Run(table_.RenderChanges());
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));  // leaves a, does not enter b
  EXPECT_TRUE(Reaches(a_, "192.0.2.9", 80));
  const auto ingress = ObjectFrom<NetworkPolicy>(
      "metadata: {namespace: default, name: r}\nspec: {podSelector: {matchLabels: {app: b}}, ingress: [{}]}");
  table_.SetPolicy("default/r", &ingress);
  Run(table_.RenderChanges());
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
  EXPECT_TRUE(IsKeptFrom(b_, "10.1.0.2", 80));
}

TEST_F(PolicyTableTest, AnAddressThatGoesToAnotherPodIsThatPods) {
  SetPolicy("{podSelector: {matchLabels: {app: closed}}, policyTypes: [Ingress]}");
  SetPod("c", "10.1.0.3", "app: closed");  // b is not gone yet
  table_.SetPod("default/b", std::nullopt);
  Run(table_.RenderChanges());
  EXPECT_TRUE(IsKeptFrom(a_, "10.1.0.3", 80));
  table_.SetPod("default/c", std::nullopt);
  Run(table_.RenderChanges());
  EXPECT_TRUE(Reaches(a_, "10.1.0.3", 80));
}

TEST_F(PolicyTableTest, WhateverIsOddIsNoText) {
  SetPolicy(
      "{podSelector: {matchLabels: {app: 'x\"} ; flush ruleset'}}, ingress: [{ports: [{port: 'web; flush "
      "ruleset'}, "
      "{port: 99999}, {port: 80, endPort: 1}, {protocol: 'TCP accept', port: 1}], from: [{ipBlock: {cidr: "
      "'0/0 "
      "accept', except: [x]}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/9, 10.0.0.0/8, 10.1.0.0/16, "
      "'fd00::/8']}}, "
      "{podSelector: {matchLabels: {'a b': 'c d'}}}, {}]}]}");
  SetPod("a", "10.1.0.2 ; flush ruleset", "app: a");
  Run(table_.RenderChanges());
  EXPECT_THAT(table_.RenderReplacement(), Not(HasSubstr("flush ruleset")));
}

}  // namespace
}  // namespace flyball::network
