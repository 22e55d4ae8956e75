// What decoding a body costs: parsed JSON to a canonical object, protobuf to the same, defaults and
// validation.
#include <benchmark/benchmark.h>

#include <string>

#include "api/rules/kind_hooks.h"
#include "api/rules/object_meta.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "api/values/quantity.h"
#include "api/wire/protobuf.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

// As a client sends it: keys sorted, nothing defaulted.
constexpr std::string_view kPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{
"prometheus.io/port":"9090","prometheus.io/scrape":"true"},"labels":{"app":"web","tier":"frontend"},"name":"web",
"namespace":"default"},"spec":{"containers":[{"args":["-g","daemon off;"],"env":[{"name":"POD_NAME","valueFrom":{
"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"LOG_LEVEL","value":"info"}],
"image":"registry.example.com/library/nginx:1.27.2","imagePullPolicy":"IfNotPresent","livenessProbe":{
"failureThreshold":3,"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"initialDelaySeconds":5,
"periodSeconds":10,"successThreshold":1,"timeoutSeconds":1},"name":"nginx","ports":[{"containerPort":8080,
"name":"http","protocol":"TCP"},{"containerPort":9090,"name":"metrics","protocol":"TCP"}],"resources":{"limits":{
"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","volumeMounts":[{
"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access","readOnly":true}]}],
"dnsPolicy":"ClusterFirst","nodeSelector":{"kubernetes.io/os":"linux"},"restartPolicy":"Always",
"schedulerName":"default-scheduler","securityContext":{},"serviceAccountName":"default",
"terminationGracePeriodSeconds":30,"tolerations":[{"effect":"NoExecute","key":"node.kubernetes.io/not-ready",
"operator":"Exists","tolerationSeconds":300}],"volumes":[{"name":"kube-api-access","projected":{"defaultMode":420,
"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"items":[{"key":"ca.crt",
"path":"ca.crt"}],"name":"kube-root-ca.crt"}}]}}]}})";

const KindInfo& PodKind() {
  return *FindBuiltinKind("", "v1", "Pod");
}

Value CanonicalPod() {
  Value pod = *json::Parse(kPod);
  Canonicalize(*PodKind().type, pod);
  return pod;
}

void BM_CopyPod(benchmark::State& state) {
  const Value pod = *json::Parse(kPod);
  for (auto _ : state) {
    Value copy = pod;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BM_CopyPod);

// Includes one copy of the parsed pod: subtract BM_CopyPod.
void BM_DecodePod(benchmark::State& state) {
  const Value pod = *json::Parse(kPod);
  for (auto _ : state) {
    Value copy = pod;
    DecodeContext context;
    benchmark::DoNotOptimize(Decode(*PodKind().type, copy, context));
  }
}
BENCHMARK(BM_DecodePod);

void BM_ParseAndDecodePod(benchmark::State& state) {
  for (auto _ : state) {
    Value pod = *json::Parse(kPod);
    DecodeContext context;
    benchmark::DoNotOptimize(Decode(*PodKind().type, pod, context));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPod.size()));
}
BENCHMARK(BM_ParseAndDecodePod);

void BM_CanonicalizeCanonicalPod(benchmark::State& state) {
  Value pod = CanonicalPod();
  for (auto _ : state) {
    Canonicalize(*PodKind().type, pod);
    benchmark::DoNotOptimize(pod);
  }
}
BENCHMARK(BM_CanonicalizeCanonicalPod);

void BM_DefaultPod(benchmark::State& state) {
  Value pod = CanonicalPod();
  for (auto _ : state) {
    ApplyDefaults(*PodKind().type, pod);
    HooksFor("", "Pod").set_defaults(pod);
    benchmark::DoNotOptimize(pod);
  }
}
BENCHMARK(BM_DefaultPod);

void BM_ValidatePod(benchmark::State& state) {
  const Value pod = CanonicalPod();
  const KindHooks& hooks = HooksFor("", "Pod");
  for (auto _ : state) {
    FieldErrors errors;
    ValidateObjectMetaForCreate(PodKind(), hooks, pod["metadata"], errors);
    hooks.validate(pod, errors);
    benchmark::DoNotOptimize(errors);
  }
}
BENCHMARK(BM_ValidatePod);

void BM_DecodeProtobufPod(benchmark::State& state) {
  const std::string body = EncodeProtobuf(CanonicalPod(), *PodKind().type);
  for (auto _ : state) benchmark::DoNotOptimize(DecodeProtobuf(body, *PodKind().type));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK(BM_DecodeProtobufPod);

void BM_EncodeProtobufPod(benchmark::State& state) {
  const Value pod = CanonicalPod();
  for (auto _ : state) benchmark::DoNotOptimize(EncodeProtobuf(pod, *PodKind().type));
}
BENCHMARK(BM_EncodeProtobufPod);

void BM_ParseQuantity(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Quantity::Parse("256Mi"));
}
BENCHMARK(BM_ParseQuantity);

}  // namespace
}  // namespace flyball::api
