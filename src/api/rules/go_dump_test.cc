#include "api/rules/go_dump.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::api {
namespace {

TEST(UnifiedDiffTest, ShowsContextAroundEachChange) {
  EXPECT_EQ(UnifiedDiff("a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nX\ne\nf\ng"),
            "@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+X\n e\n f\n g\n");
  EXPECT_EQ(UnifiedDiff("a\nb", "a\nb"), "");
  EXPECT_EQ(UnifiedDiff("a", "a\nb"), "@@ -1 +1,2 @@\n a\n+b\n");
}

TEST(UnifiedDiffTest, FarChangesAreSeparateHunks) {
  EXPECT_EQ(UnifiedDiff("1\na\nb\nc\nd\ne\nf\ng\n2", "x\na\nb\nc\nd\ne\nf\ng\ny"),
            "@@ -1,4 +1,4 @@\n-1\n+x\n a\n b\n c\n@@ -6,4 +6,4 @@\n e\n f\n g\n-2\n+y\n");
  EXPECT_EQ(UnifiedDiff("1\na\nb\n2", "x\na\nb\ny"), "@@ -1,4 +1,4 @@\n-1\n+x\n a\n b\n-2\n+y\n");
}

TEST(GoDumpTest, WritesEveryField) {
  EXPECT_EQ(GoDump(*FindType("io.k8s.api.core.v1.TCPSocketAction"), *json::Parse(R"({"port":80})")),
            "{\n \"Port\": 80,\n \"Host\": \"\"\n}");
}

TEST(GoDumpTest, OrdersAndNamesFieldsAsTheInternalTypes) {
  const std::string container =
      GoDump(*FindType("io.k8s.api.core.v1.Container"), *json::Parse(R"({"name":"c","image":"i"})"));
  EXPECT_LT(container.find("\"EnvFrom\""), container.find("\"Env\""));
  EXPECT_LT(container.find("\"ResizePolicy\""), container.find("\"VolumeMounts\""));
  EXPECT_EQ(json::Write(GoInternal("io.k8s.api.core.v1.HostAlias", *json::Parse(R"({"ip":"1.2.3.4"})"))),
            R"({"IP":"1.2.3.4","Hostnames":null})");
}

// Upstream embeds metadata: what is set of it stands beside the spec, under the names of the API.
TEST(GoDumpTest, MetadataIsNoMember) {
  const json::Value shown = GoInternal(
      "io.k8s.api.core.v1.PersistentVolumeClaim",
      *json::Parse(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"d"}})"));
  EXPECT_TRUE(json::Write(shown).starts_with(R"({"name":"d","Spec":{"AccessModes":null,)"))
      << json::Write(shown);
}

// The pod of the recordings: upstream says its node's name is on line 149.
TEST(GoDumpTest, CountsLinesAsUpstreamDoes) {
  const json::Value spec =
      *json::Parse(R"({"containers":[{"name":"c","image":"nginx:2","resources":{},"volumeMounts":[
      {"name":"k","mountPath":"/v","readOnly":true}]}],"securityContext":{},"terminationGracePeriodSeconds":30,
      "volumes":[{"name":"k","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"path":"token"}},
      {"configMap":{"items":[{"key":"ca.crt","path":"ca.crt"}],"name":"kube-root-ca.crt"}},
      {"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"},"path":"n"}]}}]}}]})");
  json::Value moved = spec;
  moved["nodeName"] = "x";
  const std::string diff = GoDifference("io.k8s.api.core.v1.PodSpec", spec, moved);
  EXPECT_TRUE(diff.starts_with("@@ -146,7 +146,7 @@\n")) << diff;
}

}  // namespace
}  // namespace flyball::api
