// Rules of kinds that have no test file of their own.
#include "api/testing/kind_rules.h"

namespace flyball::api {
namespace {

// It is the stored form that is looked at, core's.
TEST(EventRules, TheNewGroupIsStrict) {
  const auto event = [](std::string_view more) {
    FieldErrors errors;
    HooksFor("events.k8s.io", "Event")
        .validate(*json::Parse(R"({"metadata":{"namespace":"n"},"involvedObject":{"namespace":"n"})" +
                               std::string(more) + "}"),
                  errors);
    return LinesOf(errors);
  };
  EXPECT_EQ(event(""),
            (Lines{"eventTime: Required value", "type: Invalid value: \"\": has invalid value: "}));
  EXPECT_EQ(
      event(R"(,"type":"Normal","eventTime":"2024-01-01T00:00:00.000000Z","reportingComponent":"c",
                "reportingInstance":"i","action":"a","reason":"r","count":1,"series":{"count":1})"),
      (Lines{"series.count: Invalid value: \"\": should be at least 2",
             "series.lastObservedTime: Required value", "count: Invalid value: \"\": needs to be unset"}));
}

TEST(AutoscalerRules, Metrics) {
  const auto metric = [](std::string_view text) {
    return Wrong(
        "autoscaling", "HorizontalPodAutoscaler",
        R"({"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"D","name":"d"},"metrics":[)" +
            std::string(text) + "]}}");
  };
  const std::string unsupported =
      ": supported values: \"ContainerResource\", \"External\", \"Object\", \"Pods\", \"Resource\"";
  EXPECT_EQ(metric("{}"), (Lines{"spec.metrics[0].type: Required value: must specify a metric source type",
                                 "spec.metrics[0].type: Unsupported value: \"\"" + unsupported,
                                 "spec.metrics[0].type: Unsupported value: \"\"" + unsupported}));
  EXPECT_EQ(metric(R"({"type":"External","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue",
                "averageValue":"1"}},"external":{"metric":{"name":"m"},"target":{"type":"Value","value":"1"}}})"),
            Lines{"spec.metrics[0].pods: Forbidden: must populate the given metric source only"});
  EXPECT_EQ(
      metric(R"({"type":"Object","object":{"metric":{"name":"m"},"describedObject":{"kind":"K","name":"n"},
                "target":{"type":"Value"}}})"),
      Lines{"spec.metrics[0].object.target.averageValue: Required value: must set either a target value "
            "or averageValue"});
}

TEST(AutoscalerRules, TolerancesAreNotNegative) {
  const json::Value object = Prepared(
      "autoscaling", "HorizontalPodAutoscaler",
      R"({"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"D","name":"d"},"behavior":{"scaleUp":{"tolerance":"-1"}}}})");
  FieldErrors errors;
  HooksFor("autoscaling", "HorizontalPodAutoscaler").validate(object, errors);
  ASSERT_EQ(errors.causes().size(), 1u);
  EXPECT_EQ(errors.causes()[0].field, "spec.behavior.scaleUp.tolerance");
}

TEST(AutoscalerRules, ScalesToZeroOnMetricsOfObjects) {
  const auto problems = [](const char* metrics) {
    const std::string text =
        R"({"spec":{"minReplicas":0,"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"D","name":"d"},"metrics":)" +
        std::string(metrics) + "}}";
    const json::Value object = Prepared("autoscaling", "HorizontalPodAutoscaler", text.c_str());
    FieldErrors errors;
    HooksFor("autoscaling", "HorizontalPodAutoscaler").validate(object, errors);
    return errors.causes().size();
  };
  EXPECT_EQ(
      problems(
          R"([{"type":"External","external":{"metric":{"name":"q"},"target":{"type":"AverageValue","averageValue":"5"}}}])"),
      0u);
  EXPECT_EQ(
      problems(
          R"([{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5}}}])"),
      1u);
}

TEST(JobRules, SuccessPolicies) {
  const auto rule = [](std::string_view text) {
    return Wrong("batch", "Job",
                 R"({"metadata":{"name":"j"},"spec":{"completionMode":"Indexed","completions":4,
        "manualSelector":true,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}},"successPolicy":{"rules":[)" +
                     std::string(text) + "]}}}");
  };
  const std::string where = "spec.successPolicy.rules[0].";
  const std::string parsing = "error parsing succeededIndexes: ";
  EXPECT_EQ(rule(R"({"succeededIndexes":"0,2-3","succeededCount":3})"), Lines{});
  EXPECT_EQ(rule(R"({"succeededIndexes":"0,2-3","succeededCount":4})"),
            Lines{where + "succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of "
                          "indexes in the specified succeededIndexes field)"});
  EXPECT_EQ(rule(R"({"succeededIndexes":"4"})"),
            Lines{where + "succeededIndexes: Invalid value: \"4\": " + parsing + "too large index: \"4\""});
  EXPECT_EQ(rule(R"({"succeededIndexes":"2,1"})"),
            Lines{where + "succeededIndexes: Invalid value: \"2,1\": " + parsing +
                  "non-increasing order, previous: 2, current: 1"});
  EXPECT_EQ(rule(R"({"succeededIndexes":"x"})"),
            Lines{where + "succeededIndexes: Invalid value: \"x\": " + parsing +
                  "cannot convert string to integer for index: \"x\""});
}

TEST(JobRules, HowAJobEnds) {
  const auto becomes = [](std::string_view status) {
    FieldErrors errors;
    HooksFor("batch", "Job")
        .validate_status_update(*json::Parse(R"({"spec":{},"status":)" + std::string(status) + "}"),
                                *json::Parse(R"({"spec":{},"status":{"startTime":"2024-01-01T00:00:00Z"}})"),
                                errors);
    return LinesOf(errors);
  };
  EXPECT_EQ(becomes(R"({"conditions":[{"type":"Complete","status":"True"}]})"),
            (Lines{"status.completionTime: Required value: completionTime is required for Complete jobs",
                   "status.conditions: Invalid value: cannot set Complete=True condition without the "
                   "SuccessCriteriaMet=true condition",
                   "status.startTime: Required value: startTime is required for finished job"}));
  EXPECT_EQ(
      becomes(R"({"startTime":"2024-01-01T00:00:00Z","completionTime":"2024-01-01T00:00:01Z","conditions":[
                {"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]})"),
      Lines{});
  EXPECT_EQ(becomes(R"({"startTime":"2024-01-01T00:00:00Z","active":1,"ready":2,"conditions":[
                {"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]})"),
            (Lines{"status.active: Invalid value: 1: active>0 is invalid for finished job",
                   "status.ready: Invalid value: 2: cannot set more ready pods than active"}));
}

// Its labels tell whose addresses they are.
TEST(GenerationRules, ChangedLabelsOfAnEndpointSliceCount) {
  const auto prepare = HooksFor("discovery.k8s.io", "EndpointSlice").prepare_for_update;
  const json::Value old = *json::Parse(R"({"metadata":{"generation":3,"labels":{"a":"b"}}})");
  json::Value same = old, other = *json::Parse(R"({"metadata":{"generation":3,"labels":{"a":"c"}}})");
  prepare(same, old);
  prepare(other, old);
  EXPECT_EQ(same["metadata"]["generation"].int_or(0), 3);
  EXPECT_EQ(other["metadata"]["generation"].int_or(0), 4);
}

TEST(NodeRules, OfTwoRangesTheSingleOneCounts) {
  const json::Value node =
      Prepared("", "Node", R"({"spec":{"podCIDR":"10.1.0.0/24","podCIDRs":["10.0.0.0/24"]}})");
  EXPECT_EQ(json::Write(node["spec"]), R"({"podCIDR":"10.1.0.0/24","podCIDRs":["10.1.0.0/24"]})");
}

TEST(FlowControlRules, Schemas) {
  EXPECT_EQ(
      Wrong("flowcontrol.apiserver.k8s.io", "FlowSchema",
            R"({"metadata":{"name":"f"},"spec":{"matchingPrecedence":1,
        "rules":[{"subjects":[{"kind":"User"}],"resourceRules":[{"verbs":["get","*"],"apiGroups":["*"],
        "resources":["*"],"namespaces":["A_"]}]}]}})"),
      (Lines{
          "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have "
          "matchingPrecedence 1",
          "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
          "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
          "spec.rules[0].resourceRules[0].verbs: Invalid value: [\"get\",\"*\"]: if '*' is present, must not "
          "specify other verbs",
          "spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: \"A_\": each member of this list "
          "must "
          "be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case alphanumeric "
          "characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
          "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"}));
}

TEST(FlowControlRules, Levels) {
  const auto level = [](std::string_view spec) {
    return Wrong("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration",
                 R"({"metadata":{"name":"p"},"spec":)" + std::string(spec) + "}");
  };
  EXPECT_EQ(level(R"({"type":"Limited"})"), Lines{"spec.limited: Required value"});
  EXPECT_EQ(level(R"({"type":"Exempt"})"),
            Lines{"spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is "
                  "'exempt'"});
  EXPECT_EQ(
      level(R"({"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{"queues":2,
                "handSize":3,"queueLengthLimit":-1}}}})"),
      (Lines{"spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
             "spec.limited.limitResponse.queuing.handSize: Invalid value: 3: should not be greater than "
             "queues (2)"}));
}

TEST(StorageClassRules, ATopologyComesOnce) {
  const std::string term = R"({"matchLabelExpressions":[{"key":"a","values":["x"]}]})";
  EXPECT_EQ(Wrong("storage.k8s.io", "StorageClass",
                  R"({"provisioner":"p","allowedTopologies":[)" + term + "," + term + "]}"),
            Lines{"allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\""});
}

TEST(PriorityClassRules, SystemClasses) {
  EXPECT_EQ(
      Wrong("scheduling.k8s.io", "PriorityClass",
            R"({"metadata":{"name":"system-node-critical"},"value":5})"),
      Lines{
          "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use "
          "only. error: value of system-node-critical PriorityClass must be 2000001000"});
}

TEST(StatefulSetRules, PodsAndClaimsAreChecked) {
  const auto set = [](std::string_view more, std::string_view container) {
    return Wrong("apps", "StatefulSet",
                 R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"podManagementPolicy":"Parallel",
                     "updateStrategy":{"type":"OnDelete"},)" +
                     std::string(more) + R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{
                     "restartPolicy":"Always","dnsPolicy":"Default","terminationGracePeriodSeconds":1,
                     "containers":[{"name":"c","image":"i","imagePullPolicy":"Always",
                     "terminationMessagePolicy":"File")" +
                     std::string(container) + "}]}}}}");
  };
  const std::string claim =
      R"("volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],
          "resources":{"requests":{"storage":"1Gi"}}}}],)";
  EXPECT_EQ(set(claim, R"(,"volumeMounts":[{"name":"d","mountPath":"/d"}])"), Lines{});
  EXPECT_EQ(set("", R"(,"volumeMounts":[{"name":"d","mountPath":"/d"}])"),
            Lines{"spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"d\""});
  EXPECT_EQ(
      set(R"("volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"]}}],)",
          ""),
      Lines{"spec.volumeClaimTemplates[0].spec.resources[storage]: Required value"});
}

TEST(IngressRules, Backends) {
  const auto backend = [](std::string_view text) {
    return Wrong("networking.k8s.io", "Ingress", R"({"spec":{"defaultBackend":)" + std::string(text) + "}}");
  };
  EXPECT_EQ(backend("{}"),
            Lines{"spec.defaultBackend: Invalid value: \"\": resource or service backend is required"});
  EXPECT_EQ(backend(R"({"service":{"name":"9s"}})"),
            Lines{"spec.defaultBackend: Required value: port name or number is required"});
}

TEST(VolumeAttachmentRules, DeclarativeErrorsComeLast) {
  EXPECT_EQ(Wrong("storage.k8s.io", "VolumeAttachment",
                  R"({"spec":{"source":{"persistentVolumeName":"p"},"nodeName":"","attacher":""}})")
                .back(),
            "spec.attacher: Required value");
}

}  // namespace
}  // namespace flyball::api
