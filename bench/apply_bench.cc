// What a write costs beside decoding and storing: comparing objects, keeping track of their owners, merging.
#include <benchmark/benchmark.h>

#include <string>

#include "api/apply/apply.h"
#include "api/apply/object_fields.h"
#include "api/merge/strategic_merge.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kPodSpec = R"({
"volumes":[{"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,
"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}],
"defaultMode":420}}],
"containers":[{"name":"nginx","image":"registry.example.com/library/nginx:1.27.2","args":["-g","daemon off;"],
"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"},{"name":"metrics","containerPort":9090,
"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1",
"fieldPath":"metadata.name"}}},{"name":"LOG_LEVEL","value":"info"}],
"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},
"volumeMounts":[{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets"}],
"livenessProbe":{"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"initialDelaySeconds":5,
"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,
"dnsPolicy":"ClusterFirst","serviceAccountName":"default","securityContext":{},
"schedulerName":"default-scheduler"})";

const TypeInfo& Type(std::string_view group, std::string_view kind) {
  return *FindBuiltinKind(group, "v1", kind)->type;
}

Value Meta() {
  return *json::Parse(R"({"name":"web","namespace":"default","uid":"f3a5a0c2","resourceVersion":"1048576",
      "creationTimestamp":"2025-03-01T12:34:56Z","labels":{"app":"web","tier":"frontend"},
      "annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"9090"}})");
}

Value Pod() {
  Value pod(json::Object{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", Meta()}});
  pod["spec"] = *json::Parse(kPodSpec);
  pod["status"] = *json::Parse(R"({"phase":"Running","conditions":[
      {"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2025-03-01T12:35:02Z"},
      {"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2025-03-01T12:35:02Z"}],
      "hostIP":"10.0.3.17","podIP":"10.244.3.42","podIPs":[{"ip":"10.244.3.42"}],
      "startTime":"2025-03-01T12:34:56Z","qosClass":"Burstable"})");
  return pod;
}

Value Deployment() {
  Value deployment(json::Object{{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"metadata", Meta()}});
  deployment["spec"] = *json::Parse(R"({"replicas":3,"selector":{"matchLabels":{"app":"web"}},
      "template":{"metadata":{"labels":{"app":"web"}}},"strategy":{"type":"RollingUpdate",
      "rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},"revisionHistoryLimit":10})");
  deployment["spec"]["template"]["spec"] = *json::Parse(kPodSpec);
  return deployment;
}

FieldWriter Writer(std::string_view manager, std::string_view api_version,
                   std::string_view subresource = "") {
  return {.manager = manager, .subresource = subresource, .api_version = api_version, .now = TimePoint{}};
}

void BM_FieldsOfDeployment(benchmark::State& state) {
  const Value deployment = Deployment();
  for (auto _ : state) benchmark::DoNotOptimize(FieldsOf(Type("apps", "Deployment"), deployment));
}
BENCHMARK(BM_FieldsOfDeployment);

void BM_FieldsOfPod(benchmark::State& state) {
  const Value pod = Pod();
  for (auto _ : state) benchmark::DoNotOptimize(FieldsOf(Type("", "Pod"), pod));
}
BENCHMARK(BM_FieldsOfPod);

void BM_EncodeFieldsV1(benchmark::State& state) {
  const FieldSet fields = FieldsOf(Type("", "Pod"), Pod());
  for (auto _ : state) benchmark::DoNotOptimize(fields.ToFieldsV1());
}
BENCHMARK(BM_EncodeFieldsV1);

void BM_DecodeFieldsV1(benchmark::State& state) {
  const Value fields = FieldsOf(Type("", "Pod"), Pod()).ToFieldsV1();
  for (auto _ : state) benchmark::DoNotOptimize(FieldSet::FromFieldsV1(fields));
}
BENCHMARK(BM_DecodeFieldsV1);

void BM_CompareEqualPods(benchmark::State& state) {
  const Value before = Pod();
  const Value after = before;
  for (auto _ : state) benchmark::DoNotOptimize(CompareObjects(Type("", "Pod"), before, after));
}
BENCHMARK(BM_CompareEqualPods);

void BM_ComparePodsOneConditionChanged(benchmark::State& state) {
  const Value before = Pod();
  Value after = before;
  after["status"]["conditions"].as_array()[1]["status"] = "False";
  for (auto _ : state) benchmark::DoNotOptimize(CompareObjects(Type("", "Pod"), before, after));
}
BENCHMARK(BM_ComparePodsOneConditionChanged);

// A kubelet's status update of a pod that a controller made. Includes a copy of the object.
void BM_UpdateManagedFieldsOfPodStatus(benchmark::State& state) {
  const TypeInfo& type = Type("", "Pod");
  const Value full = Pod();
  Value created = full;
  created.as_object().Erase("status");
  UpdateManagedFields(type, nullptr, created, Writer("kube-controller-manager", "v1"));
  Value live = full;
  live["metadata"]["managedFields"] = created["metadata"]["managedFields"];
  UpdateManagedFields(type, &created, live, Writer("kubelet", "v1", "status"));
  Value after = live;
  after["status"]["conditions"].as_array()[1]["status"] = "False";
  for (auto _ : state) {
    Value object = after;
    UpdateManagedFields(type, &live, object, Writer("kubelet", "v1", "status"));
    benchmark::DoNotOptimize(object);
  }
}
BENCHMARK(BM_UpdateManagedFieldsOfPodStatus);

void BM_CopyPod(benchmark::State& state) {
  const Value pod = Pod();
  for (auto _ : state) {
    Value copy = pod;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BM_CopyPod);

void BM_StrategicMergeOneImage(benchmark::State& state) {
  const TypeInfo& type = Type("apps", "Deployment");
  const Value deployment = Deployment();
  const Value patch =
      *json::Parse(R"({"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:2"}]}}}})");
  for (auto _ : state) benchmark::DoNotOptimize(StrategicMerge(type, deployment, patch));
}
BENCHMARK(BM_StrategicMergeOneImage);

void ApplyChange(benchmark::State& state, bool changed, bool pruned) {
  const TypeInfo& type = Type("apps", "Deployment");
  Value config = Deployment();
  const auto first = Apply(type, "Deployment", nullptr, config, Writer("kubectl", "apps/v1"), false);
  if (changed) config["spec"]["replicas"] = 5;
  if (pruned) config["spec"].as_object().Erase("strategy");
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Apply(type, "Deployment", &first->object, config, Writer("kubectl", "apps/v1"), false));
  }
}

void BM_ApplyUnchanged(benchmark::State& state) {
  ApplyChange(state, false, false);
}
BENCHMARK(BM_ApplyUnchanged);

void BM_ApplyOneFieldChanged(benchmark::State& state) {
  ApplyChange(state, true, false);
}
BENCHMARK(BM_ApplyOneFieldChanged);

void BM_ApplyOneFieldRemoved(benchmark::State& state) {
  ApplyChange(state, false, true);
}
BENCHMARK(BM_ApplyOneFieldRemoved);

}  // namespace
}  // namespace flyball::api
