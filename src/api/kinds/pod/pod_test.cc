#include <gtest/gtest.h>

#include "api/kinds/pod/pod_update.h"
#include "api/testing/kind_rules.h"

namespace flyball::api {
namespace {

using json::Value;

// A pod with one container, and whatever else the spec has.
std::string PodJson(const std::string& container, const std::string& rest = "") {
  return R"({"metadata":{"name":"p","resourceVersion":"1"},"spec":{"containers":[{"name":"c","image":"i")" +
         (container.empty() ? "" : "," + container) + "}]" + (rest.empty() ? "" : "," + rest) + "}}";
}

Lines WrongPod(const std::string& container, const std::string& rest = "") {
  return Wrong("", "Pod", PodJson(container, rest));
}

TEST(PodTest, APlainPodIsFine) {
  EXPECT_EQ(WrongPod(""), Lines{});
}

TEST(PodTest, PullPolicyFollowsTheTag) {
  const std::pair<const char*, const char*> cases[] = {{"nginx", "Always"},
                                                       {"nginx:latest", "Always"},
                                                       {"nginx:1.25", "IfNotPresent"},
                                                       {"host:5000/nginx", "Always"},
                                                       {"host:5000/nginx:1", "IfNotPresent"},
                                                       {"nginx@sha256:00", "IfNotPresent"}};
  for (const auto& [image, policy] : cases) {
    const Value pod = Prepared(
        "", "Pod", R"({"spec":{"containers":[{"name":"c","image":")" + std::string(image) + "\"}]}}");
    EXPECT_EQ(pod["spec"]["containers"].as_array()[0]["imagePullPolicy"], Value(policy)) << image;
  }
}

TEST(PodTest, EnvironmentRules) {
  EXPECT_EQ(
      WrongPod(R"("env":[{"name":"a=b"},{"name":""},{"name":"F","valueFrom":{}},
      {"name":"G","value":"x","valueFrom":{"configMapKeyRef":{"name":"m","key":"k"}}},
      {"name":"H","valueFrom":{"fieldRef":{"fieldPath":"spec.bogus"}}},
      {"name":"I","valueFrom":{"fieldRef":{"fieldPath":"status.phase"}}},
      {"name":"J","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"5"}}}])"),
      (Lines{
          "spec.containers[0].env[0].name: Invalid value: \"a=b\": a valid environment variable name must "
          "consist "
          "only of printable ASCII characters other than '='",
          "spec.containers[0].env[1].name: Required value",
          "spec.containers[0].env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, "
          "`resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
          "spec.containers[0].env[3].valueFrom: Invalid value: \"\": may not be specified when `value` is "
          "not empty",
          "spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.bogus\": error "
          "converting "
          "fieldPath: field label not supported: spec.bogus",
          "spec.containers[0].env[5].valueFrom.fieldRef.fieldPath: Unsupported value: \"status.phase\": "
          "supported "
          "values: \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", "
          "\"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \"status.podIP\", "
          "\"status.podIPs\"",
          "spec.containers[0].env[6].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only "
          "divisor's values 1m and 1 are supported with the cpu resource",
      }));
}

TEST(PodTest, MountsNeedVolumes) {
  EXPECT_EQ(
      WrongPod(
          R"("volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"w","mountPath":"/a","subPath":"../x"}])",
          R"("volumes":[{"name":"v","emptyDir":{}}])"),
      (Lines{"spec.containers[0].volumeMounts[1].name: Not found: \"w\"",
             "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
             "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'"}));
}

TEST(PodTest, VolumeRules) {
  EXPECT_EQ(
      WrongPod("", R"("volumes":[{"name":"a"},{"name":"b","secret":{"defaultMode":512}},
      {"name":"b","nfs":{"server":"s","path":"p"}},{"name":"C","emptyDir":{"sizeLimit":"-1"}}])"),
      (Lines{
          "spec.volumes[1].secret.secretName: Required value",
          "spec.volumes[1].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 "
          "(octal), "
          "both inclusive",
          "spec.volumes[2].nfs.path: Invalid value: \"p\": must be an absolute path",
          "spec.volumes[3].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
          "spec.volumes[3].name: Invalid value: \"C\": a lowercase RFC 1123 label must consist of lower case "
          "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. "
          "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"}));
}

TEST(PodTest, ResourceRules) {
  EXPECT_EQ(
      WrongPod(
          R"("resources":{"limits":{"example.com/gpu":"1500m"},"requests":{"bogus":"1","example.com/gpu":"1"}})"),
      (Lines{"spec.containers[0].resources.limits[example.com/gpu]: Invalid value: \"1500m\": must be an "
             "integer",
             "spec.containers[0].resources.requests[bogus]: Invalid value: \"bogus\": must be a standard "
             "resource "
             "type or fully qualified",
             "spec.containers[0].resources.requests[bogus]: Invalid value: \"bogus\": must be a standard "
             "resource for "
             "containers",
             "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to example.com/gpu "
             "limit "
             "of 1500m"}));
}

TEST(PodTest, InitContainersHaveNoProbesUnlessTheyStay) {
  const std::string probe = R"("livenessProbe":{"exec":{"command":["x"]}})";
  EXPECT_EQ(
      WrongPod("", R"("initContainers":[{"name":"i","image":"i",)" + probe + "}]"),
      Lines{"spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without "
            "restartPolicy=Always"});
  EXPECT_EQ(
      WrongPod("", R"("initContainers":[{"name":"i","image":"i","restartPolicy":"Always",)" + probe + "}]"),
      Lines{});
}

TEST(PodTest, SchedulingRules) {
  EXPECT_EQ(
      WrongPod("", R"("topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"","whenUnsatisfiable":"X"}],
      "tolerations":[{"key":"k","operator":"Exists","value":"v"},{"key":"k","effect":"NoSchedule","tolerationSeconds":1}])"),
      (Lines{
          "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
          "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
          "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"X\": supported values: "
          "\"DoNotSchedule\", \"ScheduleAnyway\"",
          "spec.tolerations[0].operator: Invalid value: "
          "\"v\": "
          "value must be empty when `operator` is 'Exists'",
          "spec.tolerations[1].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when "
          "`tolerationSeconds` is set"}));
}

TEST(PodTest, ADeleteWaitsAsLongAsTheClientAsksOrThePodSays) {
  const auto grace = HooksFor("", "Pod").grace_seconds;
  const auto running = *json::Parse(R"({"spec":{"nodeName":"n","terminationGracePeriodSeconds":0}})");
  EXPECT_EQ(grace(running, std::nullopt), 0);
  EXPECT_EQ(grace(running, 60), 60);
  EXPECT_EQ(grace(running, -5), 1);
  EXPECT_EQ(grace(*json::Parse(R"({"spec":{"nodeName":"n"}})"), std::nullopt), 30);
  EXPECT_EQ(grace(*json::Parse(R"({"spec":{}})"), 60), 0);
  EXPECT_EQ(grace(*json::Parse(R"({"spec":{"nodeName":"n"},"status":{"phase":"Failed"}})"), 60), 0);
}

TEST(PodTest, Warnings) {
  Lines warnings;
  HooksFor("", "Pod").warnings(
      Prepared(
          "", "Pod",
          PodJson(
              R"("env":[{"name":"A"},{"name":"A"}],"resources":{"limits":{"memory":"100m"}},
          "ports":[{"containerPort":80},{"containerPort":80}])",
              R"("nodeSelector":{"beta.kubernetes.io/os":"linux"},"volumes":[{"name":"g","gitRepo":{"repository":"r"}}])")),
      warnings);
  EXPECT_EQ(
      warnings,
      (Lines{"spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" "
             "instead",
             "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
             "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must "
             "be an integer",
             "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\" is invalid, must "
             "be an integer",
             "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using "
             "apply",
             "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"}));
}

TEST(PodTest, QosClasses) {
  const auto qos = [](const std::string& resources) {
    return std::string(PodQosClass(Prepared("", "Pod", PodJson(resources))["spec"]));
  };
  EXPECT_EQ(qos(""), "BestEffort");
  EXPECT_EQ(qos(R"("resources":{"requests":{"cpu":"1"}})"), "Burstable");
  EXPECT_EQ(qos(R"("resources":{"limits":{"cpu":"1","memory":"1Gi"}})"), "Guaranteed");
  EXPECT_EQ(qos(R"("resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}})"),
            "Burstable");
}

TEST(PodTest, ImagesAndDeadlinesMayChange) {
  EXPECT_EQ(WrongChange("", "Pod", PodJson(""), R"({"metadata":{"name":"p"},"spec":{"activeDeadlineSeconds":5,
      "containers":[{"name":"c","image":"j","imagePullPolicy":"Always"}]}})"),
            Lines{});
  EXPECT_EQ(
      WrongChange("", "Pod", PodJson("", R"("activeDeadlineSeconds":5)"),
                  PodJson("", R"("activeDeadlineSeconds":6)")),
      Lines{"spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"});
}

TEST(PodTest, TolerationsMayOnlyBeAdded) {
  const std::string a = R"({"key":"a","operator":"Exists"})", b = R"({"key":"b","operator":"Exists"})";
  EXPECT_EQ(WrongChange("", "Pod", PodJson("", "\"tolerations\":[" + a + "]"),
                        PodJson("", "\"tolerations\":[" + a + "," + b + "]")),
            Lines{});
  EXPECT_EQ(WrongChange("", "Pod", PodJson("", "\"tolerations\":[" + a + "]"),
                        PodJson("", "\"tolerations\":[" + b + "]")),
            Lines{"spec.tolerations: Forbidden: existing toleration can not be modified except its "
                  "tolerationSeconds"});
}

TEST(PodTest, TheRestMayNotChange) {
  const Lines wrong = WrongChange("", "Pod", PodJson(""), PodJson("", R"("nodeName":"n")"));
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_TRUE(wrong[0].starts_with("spec: Forbidden: pod updates may not change fields other than "))
      << wrong[0];
  EXPECT_EQ(WrongChange("", "Pod", PodJson(""),
                        R"({"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}]}})"),
            Lines{"spec.containers: Forbidden: pod updates may not add or remove containers"});
}

TEST(PodTest, GatedPodsMayBecomePickier) {
  const std::string gate = R"("schedulingGates":[{"name":"g"}])";
  EXPECT_EQ(WrongChange("", "Pod", PodJson("", gate), PodJson("", gate + R"(,"nodeSelector":{"a":"b"})")),
            Lines{});
  EXPECT_EQ(WrongChange("", "Pod", PodJson("", gate), PodJson("", R"("schedulingGates":[{"name":"h"}])")),
            Lines{"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new "
                  "scheduling gate 'h'"});
}

TEST(PodTest, ResizeChangesComputeResourcesOnly) {
  const auto resize = [](const std::string& before, const std::string& after) {
    FieldErrors errors;
    ValidatePodResize(Prepared("", "Pod", PodJson(after)), Prepared("", "Pod", PodJson(before)), errors);
    return LinesOf(errors);
  };
  const std::string one = R"("resources":{"requests":{"cpu":"1"}})",
                    two = R"("resources":{"requests":{"cpu":"2"}})";
  EXPECT_EQ(resize(one, two), Lines{});
  EXPECT_EQ(resize(one, R"("resources":{"requests":{"memory":"1Gi"}})"),
            Lines{"spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"});
  EXPECT_EQ(resize(one, two + R"(,"workingDir":"/x")"),
            Lines{"spec: Forbidden: only cpu and memory resources are mutable"});
}

}  // namespace
}  // namespace flyball::api
