#include <gtest/gtest.h>

#include "api/testing/kind_rules.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr const char* kTemplate =
    R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";

std::string Workload(const std::string& spec) {
  return R"({"metadata":{"name":"w"},"spec":{)" + std::string(kTemplate) + (spec.empty() ? "" : "," + spec) +
         "}}";
}

TEST(WorkloadTest, PlainOnesAreFine) {
  for (const char* kind : {"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"}) {
    EXPECT_EQ(Wrong("apps", kind, Workload("")), Lines{}) << kind;
  }
}

TEST(WorkloadTest, SelectorsAreNeededAndFixed) {
  EXPECT_EQ(Wrong("apps", "Deployment",
                  R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})"),
            (Lines{"spec.selector: Required value",
                   "spec.template.metadata.labels: Invalid value: null: `selector` does not match template "
                   "`labels`"}));
  EXPECT_EQ(
      WrongChange(
          "apps", "ReplicaSet", Workload(""),
          R"({"spec":{"selector":{"matchLabels":{"a":"c"}},"template":{"metadata":{"labels":{"a":"c"}}}}})"),
      Lines{"spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable"});
}

TEST(WorkloadTest, DeploymentNumbers) {
  EXPECT_EQ(
      Wrong("apps", "Deployment",
            Workload(R"("replicas":-1,"minReadySeconds":700,"revisionHistoryLimit":-2)")),
      (Lines{"spec.replicas: Invalid value: -1: must be greater than or equal to 0",
             "spec.revisionHistoryLimit: Invalid value: -2: must be greater than or equal to 0",
             "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"}));
}

TEST(WorkloadTest, DaemonSetSurgeOrUnavailable) {
  EXPECT_EQ(Wrong("apps", "DaemonSet", Workload(R"("updateStrategy":{"rollingUpdate":{"maxSurge":1}})")),
            Lines{"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
                  "maxUnavailable is "
                  "non-zero"});
}

TEST(WorkloadTest, DaemonSetCountsItsTemplates) {
  Value first = Prepared("apps", "DaemonSet", Workload(""));
  HooksFor("apps", "DaemonSet").prepare_for_create(first);
  constexpr const char* kAnnotation = "deprecated.daemonset.template.generation";
  EXPECT_EQ(first["metadata"]["annotations"][kAnnotation], Value("1"));
  Value second = Prepared("apps", "DaemonSet", Workload(R"("minReadySeconds":5)"));
  HooksFor("apps", "DaemonSet").prepare_for_update(second, first);
  EXPECT_EQ(second["metadata"]["annotations"][kAnnotation], Value("1"));
  second["spec"]["template"]["metadata"]["labels"]["x"] = "y";
  HooksFor("apps", "DaemonSet").prepare_for_update(second, first);
  EXPECT_EQ(second["metadata"]["annotations"][kAnnotation], Value("2"));
}

TEST(WorkloadTest, StatefulSetsKeepMostOfTheirSpec) {
  EXPECT_EQ(WrongChange("apps", "StatefulSet", Workload(R"("serviceName":"a")"),
                        Workload(R"("serviceName":"a","replicas":7)")),
            Lines{});
  EXPECT_EQ(
      WrongChange("apps", "StatefulSet", Workload(R"("serviceName":"a")"), Workload(R"("serviceName":"b")"))
          .size(),
      1u);
}

std::string JobJson(const std::string& spec) {
  return R"({"metadata":{"name":"j","uid":"u"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}})" +
         (spec.empty() ? "" : "," + spec) + "}}";
}

TEST(JobTest, SelectorsAreGenerated) {
  Value job = Prepared("batch", "Job", JobJson(""));
  HooksFor("batch", "Job").prepare_for_create(job);
  EXPECT_EQ(json::Write(job["spec"]["selector"]),
            R"({"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}})");
  EXPECT_EQ(job["spec"]["template"]["metadata"]["labels"]["job-name"], Value("j"));
  FieldErrors errors;
  HooksFor("batch", "Job").validate(job, errors);
  EXPECT_EQ(LinesOf(errors), Lines{});
}

TEST(JobTest, CompletionsAreFixedUnlessIndexedInTandem) {
  EXPECT_EQ(WrongChange("batch", "Job", JobJson(R"("completions":2)"), JobJson(R"("completions":3)")),
            Lines{"spec.completions: Invalid value: 3: field is immutable"});
  const std::string indexed = R"("completionMode":"Indexed",)";
  EXPECT_EQ(WrongChange("batch", "Job", JobJson(indexed + R"("completions":2,"parallelism":2)"),
                        JobJson(indexed + R"("completions":3,"parallelism":3)")),
            Lines{});
  EXPECT_EQ(
      WrongChange("batch", "Job", JobJson(indexed + R"("completions":2,"parallelism":2)"),
                  JobJson(indexed + R"("completions":3,"parallelism":2)")),
      Lines{"spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"});
}

std::string AutoscalerOf(const std::string& target) {
  return R"({"metadata":{"name":"a"},"spec":{"maxReplicas":2,"scaleTargetRef":)" + target + "}}";
}

TEST(WorkloadTest, AutoscalersOfTheCoreGroupScaleReplicationControllers) {
  const char* const kind = "HorizontalPodAutoscaler";
  EXPECT_EQ(Wrong("autoscaling", kind,
                  AutoscalerOf(R"({"apiVersion":"v1","kind":"ReplicationController","name":"r"})")),
            Lines{});
  const Lines refused = {
      "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group"};
  const std::string deployment = AutoscalerOf(R"({"apiVersion":"v1","kind":"Deployment","name":"d"})");
  EXPECT_EQ(Wrong("autoscaling", kind, deployment), refused);
  // What is stored stays as it is until its kind or version changes.
  const std::string renamed = AutoscalerOf(R"({"apiVersion":"v1","kind":"Deployment","name":"e"})"),
                    other = AutoscalerOf(R"({"apiVersion":"v1","kind":"Pod","name":"d"})");
  EXPECT_EQ(WrongChange("autoscaling", kind, deployment, renamed), Lines{});
  EXPECT_EQ(WrongChange("autoscaling", kind, deployment, other), refused);
}

}  // namespace
}  // namespace flyball::api
