// The generated structs: what JSON they read and write.
#include <gtest/gtest.h>

#include "api/types/apiextensions.h"
#include "api/types/apps.h"
#include "api/types/autoscaling.h"
#include "api/types/coordination.h"
#include "api/types/core.h"
#include "api/types/policy.h"
#include "json/json.h"

namespace flyball {
namespace {

template <typename T>
T Decoded(std::string_view text) {
  T object;
  const Result<json::Value> value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  const Status status = FromJson(*value, &object);
  EXPECT_TRUE(status) << (status ? "" : status.error().message());
  return object;
}

template <typename T>
std::string ErrorOf(std::string_view text) {
  T object;
  const Status status = FromJson(*json::Parse(text), &object);
  return status ? "" : status.error().message();
}

TEST(Types, AConfigMapIsMadeWithDesignatedInitialisers) {
  const ConfigMap map{.metadata = {.name = "a", .namespace_ = "b"}, .data = {{"k", "v"}}};
  EXPECT_EQ(
      json::Write(ToJson(map)),
      R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b"},"data":{"k":"v"}})");
}

TEST(Types, TraitsNameTheKind) {
  EXPECT_EQ(KindTraits<Deployment>::group, "apps");
  EXPECT_EQ(KindTraits<Deployment>::version, "v1");
  EXPECT_EQ(KindTraits<Deployment>::kind, "Deployment");
  EXPECT_EQ(KindTraits<Deployment>::plural, "deployments");
  EXPECT_TRUE(KindTraits<Deployment>::namespaced);
  EXPECT_FALSE(KindTraits<Node>::namespaced);
}

TEST(Types, ZeroIsWrittenWhereGoHasAPointer) {
  Deployment deployment;
  deployment.spec.replicas = 0;
  deployment.spec.min_ready_seconds = 0;
  const json::Value value = ToJson(deployment);
  EXPECT_EQ(value["spec"]["replicas"], json::Value(0));
  EXPECT_EQ(value["spec"].Find("minReadySeconds"), nullptr);
}

TEST(Types, StructsThatAreValuesInGoAreWrittenEmpty) {
  const json::Value value = ToJson(Deployment{});
  EXPECT_EQ(json::Write(value["status"]), "{}");
  EXPECT_EQ(json::Write(value["spec"]["strategy"]), "{}");
  EXPECT_TRUE(value["spec"].Find("selector")->is_null());
  EXPECT_TRUE(ToJson(PodSpec{}).Find("containers")->is_null());
  EXPECT_EQ(json::Write(ToJson(Event{})["firstTimestamp"]), "null");
  EXPECT_EQ(ToJson(Pod{})["metadata"].Find("creationTimestamp"), nullptr);
}

TEST(Types, ValuesKeepTheirForm) {
  const char* text =
      R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","creationTimestamp":"2024-01-02T03:04:05Z",)"
      R"("ownerReferences":[{"kind":"Pod","name":"p","uid":"u","apiVersion":"v1","controller":true}]},)"
      R"("data":{"k":"AAEC"},"type":"Opaque"})";
  const Secret secret = Decoded<Secret>(text);
  EXPECT_EQ(secret.data.at("k"), std::string("\0\1\2", 3));
  EXPECT_EQ(secret.metadata.creation_timestamp->seconds, 1704164645);
  EXPECT_EQ(secret.metadata.owner_references.at(0).controller, true);
  EXPECT_EQ(json::Write(ToJson(secret)), text);
}

TEST(Types, QuantitiesPortsAndMicroTimes) {
  const auto pod = Decoded<Pod>(R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"100m",)"
                                R"("memory":1024}},"readinessProbe":{"httpGet":{"port":"web"}}}]}})");
  const Container& container = pod.spec.containers.at(0);
  EXPECT_EQ(container.resources.limits.at("cpu").MilliValue(), 100);
  EXPECT_EQ(container.resources.limits.at("memory").Value(), 1024);
  EXPECT_EQ(container.readiness_probe->http_get->port.text(), "web");

  const auto lease = Decoded<Lease>(R"({"spec":{"renewTime":"2024-01-02T03:04:05.000006Z"}})");
  EXPECT_EQ(lease.spec.renew_time->nanos, 6000);
  EXPECT_EQ(ToJson(lease)["spec"]["renewTime"].as_string(), "2024-01-02T03:04:05.000006Z");
}

TEST(Types, NullIsAsGoodAsAbsent) {
  const auto pod = Decoded<Pod>(R"({"metadata":null,"spec":{"containers":null,"affinity":null}})");
  EXPECT_EQ(pod, Pod{});
  EXPECT_FALSE(pod.spec.affinity);
}

TEST(Types, DecodingReplacesWhatWasThere) {
  Pod pod;
  pod.metadata.labels["old"] = "x";
  ASSERT_TRUE(FromJson(*json::Parse(R"({"kind":"Pod","metadata":{"name":"n"}})"), &pod));
  EXPECT_TRUE(pod.metadata.labels.empty());
}

TEST(Types, UnknownFieldsAreSkipped) {
  EXPECT_EQ(Decoded<Pod>(R"({"spec":{"fromTheFuture":{"x":1}}})"), Pod{});
}

TEST(Types, ErrorsSayWhere) {
  EXPECT_EQ(ErrorOf<Pod>(R"({"spec":{"containers":[{"name":"c"},{"name":7}]}})"),
            "cannot decode Pod: spec.containers[1].name: expected a string, found a number");
  EXPECT_EQ(ErrorOf<Pod>(R"({"kind":"Node"})"), "cannot decode Pod: the object is a Node");
  EXPECT_EQ(ErrorOf<Pod>(R"([])"), "cannot decode Pod: expected an object, found a list");
  EXPECT_EQ(ErrorOf<Deployment>(R"({"spec":{"replicas":3000000000}})"),
            "cannot decode Deployment: spec.replicas: 3000000000 does not fit 32 bits");
  EXPECT_EQ(ErrorOf<Secret>(R"({"data":{"k":"!"}})"), "cannot decode Secret: data.k: not base64");
}

TEST(Types, OptionalPartsCopyDeeply) {
  Pod pod;
  pod.spec.affinity = Affinity{};
  pod.spec.affinity->node_affinity.emplace();
  Pod copy = pod;
  EXPECT_EQ(copy, pod);
  copy.spec.affinity->node_affinity.reset();
  EXPECT_NE(copy, pod);
  EXPECT_TRUE(pod.spec.affinity->node_affinity);
  pod.spec.affinity = pod.spec.affinity;
  EXPECT_TRUE(pod.spec.affinity->node_affinity);
  copy.spec.affinity = std::nullopt;
  EXPECT_EQ(copy.spec.affinity, std::nullopt);
}

TEST(Types, ManagedFieldsHoldTheirFieldsAsText) {
  const auto value = *json::Parse(R"({"metadata":{"managedFields":[{"fieldsV1":{"f:data":{".":{}}}}]}})");
  ConfigMap map;
  ASSERT_TRUE(FromJson(value, &map));
  ASSERT_EQ(map.metadata.managed_fields.size(), 1u);
  EXPECT_EQ(map.metadata.managed_fields[0].fields_v1, R"({"f:data":{".":{}}})");
  EXPECT_EQ(ToJson(map)["metadata"]["managedFields"], value["metadata"]["managedFields"]);
}

TEST(Types, ACustomResourceSchemaIsJson) {
  const auto crd = Decoded<CustomResourceDefinition>(
      R"({"spec":{"group":"g","versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  EXPECT_EQ(crd.spec.versions.at(0).schema->open_apiv3_schema["type"].as_string(), "object");
}

}  // namespace
}  // namespace flyball
