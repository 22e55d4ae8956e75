// Requests that are not quite right, and what they are told.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kOddMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kOddMerge = "application/merge-patch+json";
constexpr const char* kOddJson = "application/json-patch+json";
constexpr const char* kOddStrategic = "application/strategic-merge-patch+json";

class OddRequests : public ServerFixture {
 protected:
  OddRequests() { Do("POST", kOddMaps, R"({"metadata":{"name":"c"},"data":{"a":"1"}})"); }
  std::string Said(std::string_view patch, const char* type) {
    const auto reply = Do("PATCH", std::string(kOddMaps) + "/c", std::string(patch), type);
    return reply->status < 300 ? "ok" : reply->message();
  }
};

TEST_F(OddRequests, PatchesThatAreNull) {
  EXPECT_EQ(Said("null", kOddStrategic), "ok");
  EXPECT_EQ(Said("null", kOddJson), "ok");
  EXPECT_EQ(Said("null", kOddMerge), "Invalid JSON Patch");
}

TEST_F(OddRequests, OperationsOfTheWrongType) {
  EXPECT_EQ(Said(R"([{"op":1}])", kOddJson),
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type "
            "string");
  EXPECT_EQ(Said("[1]", kOddJson),
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp");
}

TEST_F(OddRequests, OwnersAreNamedOnce) {
  constexpr const char* kOwner = R"({"apiVersion":"v1","kind":"K","name":"n","uid":"u"})";
  const auto made =
      Do("POST", kOddMaps,
         std::string(R"({"metadata":{"name":"o","ownerReferences":[)") + kOwner + "," + kOwner + "]}}");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->value()["metadata"]["ownerReferences"].size(), 1u);
}

TEST_F(OddRequests, AnApplyThatNamesTheUidOfNothing) {
  const auto reply = Do("PATCH", std::string(kOddMaps) + "/new?fieldManager=m",
                        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","uid":"zz"}})",
                        "application/apply-patch+yaml");
  EXPECT_EQ(reply->status, 409);
  EXPECT_EQ(reply->message(),
            "Operation cannot be fulfilled on configmaps \"new\": uid mismatch: the provided object "
            "specified uid zz, and no existing object was found");
}

TEST_F(OddRequests, DeletionOptionsThatAreNoJson) {
  const auto reply = Do("DELETE", std::string(kOddMaps) + "/c", "{bad");
  EXPECT_EQ(reply->status, 400);
  EXPECT_EQ(reply->message(),
            "couldn't get version/kind; json parse error: invalid character 'b' looking for beginning of "
            "object key string");
}

TEST_F(OddRequests, BodiesThatNameAnotherObject) {
  Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  Do("POST", "/api/v1/namespaces/default/pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(
      Do("POST", "/api/v1/namespaces/default/pods/p/eviction", R"({"metadata":{"name":"q"}})")->message(),
      "name in URL does not match name in Eviction object");
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/pods/p/binding",
               R"({"metadata":{"name":"q"},"target":{"name":"n"}})")
                ->message(),
            "name in URL does not match name in Binding object");
  EXPECT_EQ(
      Do("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", R"({"metadata":{"name":"q"}})")
          ->message(),
      "TokenRequest.authentication.k8s.io \"default\" is invalid: metadata.name: Invalid value: \"q\": "
      "must match the service account name if specified");
}

TEST_F(OddRequests, ReviewsHaveNoMetadata) {
  EXPECT_EQ(
      Do("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
         R"({"metadata":{"name":"x"},"spec":{"user":"u","resourceAttributes":{}}})")
          ->message(),
      ".authorization.k8s.io \"\" is invalid: metadata: Invalid value: {\"name\":\"x\"}: must be empty");
}

TEST_F(OddRequests, AScaleThatIsNotThere) {
  EXPECT_EQ(Do("GET", "/apis/apps/v1/namespaces/default/deployments/d/scale")->message(),
            "deployments.apps \"d\" not found");
  EXPECT_EQ(Do("GET", "/apis/apps/v1/namespaces/default/statefulsets/s/scale")->message(),
            "statefulsets.apps \"s\" not found");
}

TEST_F(OddRequests, OnlyJobsSayThatPodsAreKept) {
  Do("POST", "/api/v1/namespaces/default/replicationcontrollers",
     R"({"metadata":{"name":"r"},"spec":{"replicas":0,"template":{"metadata":{"labels":{"a":"b"}},
         "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const auto deleted = Do("DELETE", "/api/v1/namespaces/default/replicationcontrollers/r");
  EXPECT_EQ(deleted->status, 200);
  EXPECT_EQ(deleted->headers.Get("warning"), "");
}

TEST_F(OddRequests, WhatStrategicPatchesCannotRestore) {
  const std::string says = " \"\" is invalid: patch: Invalid value: ";
  EXPECT_EQ(Said(R"({"data":"x"})", kOddStrategic), says + "\"map[data:x]\": cannot restore map from string");
  EXPECT_EQ(Said(R"({"metadata":"x"})", kOddStrategic),
            says + "\"map[metadata:x]\": cannot restore struct from: string");
  EXPECT_EQ(Said(R"({"data":{"a":5}})", kOddStrategic),
            says + "\"map[data:map[a:5]]\": cannot convert int64 to string");
  EXPECT_EQ(Said(R"({"data":{"a":{}}})", kOddStrategic),
            says + "\"map[data:map[a:map[]]]\": unrecognized type: string");
  EXPECT_EQ(Said("{", kOddStrategic), "invalid JSON patch");
}

TEST_F(OddRequests, DuplicateKeysOfAppliedYamlAreNamedByLine) {
  const std::string body =
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  foo: a\n  foo: b\n";
  const std::string target = std::string(kOddMaps) + "/c?fieldManager=m&force=true&fieldValidation=";
  const auto strict = Do("PATCH", target + "Strict", body, "application/apply-patch+yaml");
  EXPECT_EQ(strict->status, 400);
  EXPECT_EQ(strict->message(),
            "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n"
            "  line 7: key \"foo\" already set in map");
  const auto warned = Do("PATCH", target + "Warn", body, "application/apply-patch+yaml");
  EXPECT_EQ(warned->status, 200);
  EXPECT_EQ(warned->headers.Get("warning"), "299 - \"line 7: key \\\"foo\\\" already set in map\"");
}

TEST_F(OddRequests, ADryCreateShowsTheVersionItWasGiven) {
  const auto made =
      Do("POST", std::string(kOddMaps) + "?dryRun=All", R"({"metadata":{"name":"v","resourceVersion":"5"}})");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->value()["metadata"]["resourceVersion"].string_or(""), "5");
}

TEST_F(OddRequests, EmptyListsOfBuiltInKindsComeBackAsNull) {
  const auto role = Do("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                       R"({"metadata":{"name":"none"},"rules":[]})");
  EXPECT_EQ(role->status, 201);
  EXPECT_TRUE(role->value()["rules"].is_null());
}

TEST_F(OddRequests, OwnersOfFieldsAreForgottenWhereTheListIsEmpty) {
  const auto cleared =
      Do("PATCH", std::string(kOddMaps) + "/c", R"({"metadata":{"managedFields":[]}})", kOddMerge);
  EXPECT_EQ(cleared->status, 200);
  EXPECT_TRUE(cleared->value()["metadata"]["managedFields"].is_null()) << cleared->body;
}

TEST_F(OddRequests, OnlyADeleteSetsAGracePeriod) {
  EXPECT_EQ(Said(R"({"metadata":{"deletionGracePeriodSeconds":5}})", kOddMerge),
            "ConfigMap \"c\" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 5: field is "
            "immutable");
  const auto made =
      Do("POST", kOddMaps, R"({"metadata":{"name":"g","deletionGracePeriodSeconds":5},"data":{"a":"1"}})");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->body.find("deletionGracePeriodSeconds"), std::string::npos) << made->body;
}

TEST_F(OddRequests, ATakenNameWithAPrefixMayBeTriedAgain) {
  const auto taken = Do("POST", kOddMaps, R"({"metadata":{"name":"c","generateName":"c-"}})");
  EXPECT_EQ(taken->status, 409);
  EXPECT_EQ(
      taken->message(),
      "configmaps \"c\" already exists, the server was not able to generate a unique name for the object");
  EXPECT_EQ(taken->value()["details"]["retryAfterSeconds"].int_or(0), 1);
}

TEST_F(OddRequests, OtherNamespacesAreRefusedByOneText) {
  EXPECT_EQ(Said(R"({"metadata":{"namespace":"other"}})", kOddMerge),
            "the namespace of the provided object does not match the namespace sent on the request");
}

TEST_F(OddRequests, WhatIsAppliedMayStillNotDecode) {
  const auto applied =
      Do("PATCH", std::string(kOddMaps) + "/c?fieldManager=m",
         R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","deletionTimestamp":"x"}})",
         "application/apply-patch+yaml");
  EXPECT_EQ(applied->status, 500);
  EXPECT_TRUE(
      applied->message().starts_with("failed to convert new object (/c; /v1, Kind=ConfigMap) to proper "
                                     "version: unable to convert unstructured "
                                     "object to /v1, Kind=ConfigMap: parsing time"))
      << applied->message();
}

TEST_F(OddRequests, SecretsOfServiceAccountsAreNames) {
  const auto made = Do("POST", "/api/v1/namespaces/default/serviceaccounts",
                       R"({"metadata":{"name":"s"},"secrets":[{"name":"a","kind":"K","uid":"u"}]})");
  EXPECT_EQ(json::Write(made->value()["secrets"]), R"([{"name":"a"}])");
}

TEST_F(OddRequests, ALimitRangeNeedsNoName) {
  const auto made = Do("POST", "/api/v1/namespaces/default/limitranges", R"({"spec":{"limits":[]}})");
  EXPECT_EQ(made->status, 201);
  EXPECT_FALSE(made->value()["metadata"]["name"].string_or("").empty());
}

// Their own rules come first, and alone; then those of all metadata.
TEST_F(OddRequests, BudgetsAreNamedFreely) {
  constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  EXPECT_EQ(
      Do("POST", kBudgets, R"({"metadata":{"name":"A_b"},"spec":{"minAvailable":1,"selector":{}}})")->status,
      201);
  const auto twice =
      Do("POST", kBudgets, R"({"metadata":{"name":"a/b"},"spec":{"minAvailable":1,"maxUnavailable":1}})");
  EXPECT_EQ(twice->message().find("metadata.name"), std::string::npos) << twice->message();
}

TEST_F(OddRequests, WhatIsWrongWithABindingIsAPlainError) {
  Do("POST", "/api/v1/namespaces/default/pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const auto bound = Do("POST", "/api/v1/namespaces/default/pods/p/binding",
                        R"({"metadata":{"name":"p"},"target":{"kind":"Pod","name":""}})");
  EXPECT_EQ(bound->status, 500);
  EXPECT_EQ(bound->message(),
            "[target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\", target.name: "
            "Required "
            "value]");
}

}  // namespace
}  // namespace flyball::server
