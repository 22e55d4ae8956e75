// Reading and writing one Pod as a kubelet would send it, against the bare libraries.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <boost/json/src.hpp>

#include "json/json.h"
#include "json/patch.h"
#include "json/yaml/yaml.h"

namespace flyball::json {
namespace {

constexpr std::string_view kPod = R"({
"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-6d4cf56db6-x2x7k","generateName":"web-6d4cf56db6-",
"namespace":"default","uid":"f3a5a0c2-5f4f-4f0b-9d59-3c9f4b1b9d11","resourceVersion":"1048576",
"creationTimestamp":"2025-03-01T12:34:56Z","labels":{"app":"web","pod-template-hash":"6d4cf56db6","tier":"frontend"},
"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"9090","kubernetes.io/psp":"restricted"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-6d4cf56db6",
"uid":"0b2f9a54-7d5e-4f0e-8f6d-2a7f0e6c1b22","controller":true,"blockOwnerDeletion":true}],
"managedFields":[{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2025-03-01T12:35:02Z",
"fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},
"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},
"f:phase":{},"f:podIP":{},"f:startTime":{}}},"subresource":"status"}]},
"spec":{"volumes":[{"name":"kube-api-access-8mplq","projected":{"sources":[{"serviceAccountToken":{
"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt",
"path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1",
"fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],
"containers":[{"name":"nginx","image":"registry.example.com/library/nginx:1.27.2","args":["-g","daemon off;"],
"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"},{"name":"metrics","containerPort":9090,
"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1",
"fieldPath":"metadata.name"}}},{"name":"LOG_LEVEL","value":"info"}],
"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},
"volumeMounts":[{"name":"kube-api-access-8mplq","readOnly":true,
"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":{"path":"/healthz",
"port":"http","scheme":"HTTP"},"initialDelaySeconds":5,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,
"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,
"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"worker-3",
"securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready",
"operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,
"preemptionPolicy":"PreemptLowerPriority"},
"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,
"lastTransitionTime":"2025-03-01T12:35:02Z"}],"hostIP":"10.0.3.17","podIP":"10.244.3.42",
"podIPs":[{"ip":"10.244.3.42"}],"startTime":"2025-03-01T12:34:56Z","containerStatuses":[{"name":"nginx",
"state":{"running":{"startedAt":"2025-03-01T12:35:01Z"}},"lastState":{},"ready":true,"restartCount":0,
"image":"registry.example.com/library/nginx:1.27.2","started":true}],"qosClass":"Burstable"}})";

const std::string& Pod() {
  static const std::string pod = Write(*Parse(kPod));
  return pod;
}

void SetBytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(Pod().size()));
}

void BM_Parse(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Parse(Pod()));
  SetBytes(state);
}
BENCHMARK(BM_Parse);

void BM_ParseSimdjsonDomOnly(benchmark::State& state) {
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element root;
    if (parser.parse(Pod()).get(root)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(root);
  }
  SetBytes(state);
}
BENCHMARK(BM_ParseSimdjsonDomOnly);

void BM_ParseBoost(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(boost::json::parse(Pod()));
  SetBytes(state);
}
BENCHMARK(BM_ParseBoost);

void BM_ParseBoostMonotonic(benchmark::State& state) {
  for (auto _ : state) {
    boost::json::monotonic_resource memory;
    benchmark::DoNotOptimize(boost::json::parse(Pod(), &memory));
  }
  SetBytes(state);
}
BENCHMARK(BM_ParseBoostMonotonic);

void BM_Write(benchmark::State& state) {
  const Value pod = *Parse(Pod());
  for (auto _ : state) benchmark::DoNotOptimize(Write(pod));
  SetBytes(state);
}
BENCHMARK(BM_Write);

void BM_WriteBoost(benchmark::State& state) {
  const auto pod = boost::json::parse(Pod());
  for (auto _ : state) benchmark::DoNotOptimize(boost::json::serialize(pod));
  SetBytes(state);
}
BENCHMARK(BM_WriteBoost);

void BM_Copy(benchmark::State& state) {
  const Value pod = *Parse(Pod());
  for (auto _ : state) benchmark::DoNotOptimize(Value(pod));
}
BENCHMARK(BM_Copy);

void BM_Compare(benchmark::State& state) {
  const Value pod = *Parse(Pod()), other = pod;
  for (auto _ : state) benchmark::DoNotOptimize(pod == other);
}
BENCHMARK(BM_Compare);

void BM_MergePatch(benchmark::State& state) {
  const Value pod = *Parse(Pod());
  const Value patch = *Parse(R"({"metadata":{"labels":{"tier":null,"x":"y"}},"status":{"phase":"Failed"}})");
  for (auto _ : state) benchmark::DoNotOptimize(ApplyMergePatch(pod, patch));
}
BENCHMARK(BM_MergePatch);

void BM_WriteYaml(benchmark::State& state) {
  const Value pod = *Parse(Pod());
  for (auto _ : state) benchmark::DoNotOptimize(WriteYaml(pod));
}
BENCHMARK(BM_WriteYaml);

void BM_ParseYaml(benchmark::State& state) {
  const std::string yaml = WriteYaml(*Parse(Pod()));
  for (auto _ : state) benchmark::DoNotOptimize(ParseYaml(yaml));
}
BENCHMARK(BM_ParseYaml);

}  // namespace
}  // namespace flyball::json
