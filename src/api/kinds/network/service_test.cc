#include <gtest/gtest.h>

#include "api/testing/kind_rules.h"

namespace flyball::api {
namespace {

using json::Value;

std::string ServiceJson(const std::string& spec) {
  return R"({"metadata":{"name":"s"},"spec":{)" + spec + "}}";
}

TEST(ServiceTest, DefaultsByType) {
  const Value plain = Prepared("", "Service", ServiceJson(R"("ports":[{"port":80}])"));
  EXPECT_EQ(
      json::Write(plain["spec"]),
      R"({"ports":[{"protocol":"TCP","port":80,"targetPort":80}],"type":"ClusterIP","sessionAffinity":"None",)"
      R"("internalTrafficPolicy":"Cluster"})");
  const Value balanced =
      Prepared("", "Service", ServiceJson(R"("type":"LoadBalancer","ports":[{"port":80}])"));
  EXPECT_EQ(balanced["spec"]["externalTrafficPolicy"], Value("Cluster"));
  EXPECT_EQ(balanced["spec"]["allocateLoadBalancerNodePorts"], Value(true));
}

TEST(ServiceTest, PortRules) {
  EXPECT_EQ(Wrong("", "Service", ServiceJson("")), Lines{"spec.ports: Required value"});
  EXPECT_EQ(Wrong("", "Service", ServiceJson(R"("ports":[{"name":"a","port":1},{"name":"a","port":1}])")),
            (Lines{"spec.ports[1].name: Duplicate value: \"a\"",
                   "spec.ports[1]: Duplicate value: "
                   "{\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":1,\"TargetPort\":0,"
                   "\"NodePort\":0}"}));
  EXPECT_EQ(Wrong("", "Service", ServiceJson(R"("ports":[{"port":1,"nodePort":30001}])")),
            Lines{"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"});
}

TEST(ServiceTest, AllocatedValuesSurviveAWriteWithoutThem) {
  const Value old = Prepared(
      "", "Service", ServiceJson(R"("type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],
      "ports":[{"port":80,"nodePort":30001}])"));
  Value now = Prepared("", "Service", ServiceJson(R"("type":"NodePort","ports":[{"port":80}])"));
  HooksFor("", "Service").prepare_for_update(now, old);
  EXPECT_EQ(now["spec"]["clusterIP"], Value("10.0.0.1"));
  EXPECT_EQ(now["spec"]["clusterIPs"], old["spec"]["clusterIPs"]);
  EXPECT_EQ(now["spec"]["ports"].as_array()[0]["nodePort"], Value(30001));
}

TEST(ServiceTest, NodePortsGoWithTheirType) {
  const std::string ports = R"("ports":[{"port":80,"nodePort":30001}])";
  const Value old = Prepared("", "Service", ServiceJson(R"("type":"NodePort",)" + ports));
  Value now = Prepared("", "Service",
                       ServiceJson(R"("type":"ClusterIP","externalTrafficPolicy":"Cluster",)" + ports));
  HooksFor("", "Service").prepare_for_update(now, old);
  EXPECT_EQ(now["spec"]["ports"].as_array()[0].Find("nodePort"), nullptr);
  EXPECT_EQ(now["spec"].Find("externalTrafficPolicy"), nullptr);
}

TEST(ServiceTest, AddressesOfALoadBalancerGoWithTheType) {
  Value old = Prepared("", "Service", ServiceJson(R"("type":"LoadBalancer","ports":[{"port":80}])"));
  old["status"] = *json::Parse(R"({"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}})");
  Value now = old;
  HooksFor("", "Service").prepare_for_update(now, old);
  EXPECT_EQ(now["status"], old["status"]);
  now["spec"]["type"] = "ClusterIP";
  HooksFor("", "Service").prepare_for_update(now, old);
  EXPECT_EQ(json::Write(now["status"]), R"({"loadBalancer":{}})");
}

TEST(ServiceTest, TheFirstAddressStays) {
  const std::string old =
      ServiceJson(R"("clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ports":[{"port":80}])");
  EXPECT_EQ(
      WrongChange("", "Service", old,
                  ServiceJson(R"("clusterIP":"10.0.0.2","clusterIPs":["10.0.0.1"],"ports":[{"port":80}])")),
      Lines{"spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"});
}

}  // namespace
}  // namespace flyball::api
