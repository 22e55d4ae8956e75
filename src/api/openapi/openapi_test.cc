#include "api/openapi/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "api/custom/custom_kind.h"
#include "base/values/protobuf_wire.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kVersion = "v1.37.1";

const char kDefinition[] = R"({"metadata":{"name":"gizmos.sample.example.com"},
  "spec":{"group":"sample.example.com","scope":"Namespaced","names":{"kind":"Gizmo","plural":"gizmos","singular":"gizmo"},
    "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},
         "scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},
       "schema":{"openAPIV3Schema":{"type":"object","description":"A gizmo.","properties":{
         "spec":{"type":"object","properties":{
           "any":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
           "nul":{"type":"string","nullable":true},
           "size":{"type":"integer","description":"How big."}}}}}}}]}})";

class OpenApi : public testing::Test {
 protected:
  OpenApi() : custom_(*CustomKind::Build(*json::Parse(kDefinition), "v1")) {
    for (const auto& kind : BuiltinKinds()) kinds_.push_back(&kind);
    kinds_.push_back(&custom_->info());
  }

  Value V3(std::string_view group, std::string_view version) const {
    const auto text = OpenApiV3Document(kinds_, group, version, kVersion);
    if (!text) return {};
    auto document = json::Parse(*text);
    EXPECT_TRUE(document) << group << ": " << (document ? "" : document.error().message());
    return document ? *document : Value();
  }

  std::shared_ptr<const CustomKind> custom_;
  std::vector<const KindInfo*> kinds_;
};

void CollectRefs(const Value& value, std::set<std::string>& refs) {
  if (value.is_array())
    for (const auto& element : value.as_array()) CollectRefs(element, refs);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.as_object()) {
    if (key == "$ref" && member.is_string()) refs.emplace(member.as_string());
    CollectRefs(member, refs);
  }
}

void ExpectRefsResolve(const Value& document, const Value& schemas, std::string_view prefix) {
  std::set<std::string> refs;
  CollectRefs(document, refs);
  EXPECT_FALSE(refs.empty());
  constexpr std::string_view kParameters = "#/parameters/";
  for (const auto& ref : refs) {
    if (ref.starts_with(kParameters)) {
      EXPECT_NE(document["parameters"].Find(ref.substr(kParameters.size())), nullptr) << ref;
      continue;
    }
    ASSERT_TRUE(ref.starts_with(prefix)) << ref;
    EXPECT_NE(schemas.Find(std::string_view(ref).substr(prefix.size())), nullptr) << ref;
  }
}

TEST_F(OpenApi, EveryReferenceResolves) {
  for (const auto version : VersionsOf(kinds_, "")) {
    const auto document = V3("", version);
    ExpectRefsResolve(document, document["components"]["schemas"], "#/components/schemas/");
  }
  for (const auto group : GroupsOf(kinds_))
    for (const auto version : VersionsOf(kinds_, group)) {
      const auto document = V3(group, version);
      ExpectRefsResolve(document, document["components"]["schemas"], "#/components/schemas/");
    }
  const auto v2 = json::Parse(OpenApiV2Document(kinds_, kVersion));
  ASSERT_TRUE(v2);
  ExpectRefsResolve(*v2, (*v2)["definitions"], "#/definitions/");
}

TEST_F(OpenApi, OperationIdsAreUnique) {
  const auto v2 = json::Parse(OpenApiV2Document(kinds_, kVersion));
  ASSERT_TRUE(v2);
  std::set<std::string> ids;
  for (const auto& [path, item] : (*v2)["paths"].as_object())
    for (const auto& [method, operation] : item.as_object())
      if (operation.is_object()) {
        EXPECT_TRUE(ids.emplace(operation["operationId"].string_or("")).second) << path << ' ' << method;
      }
  for (const char* known :
       {"createCoreV1NamespacedPod", "listCoreV1PodForAllNamespaces", "readAppsV1NamespacedDeploymentScale",
        "deleteCoreV1CollectionNamespacedPod", "connectCoreV1GetNamespacedPodExec", "createCoreV1Namespace",
        "replaceCoreV1NamespaceStatus", "listRbacAuthorizationV1ClusterRole",
        "patchCoreV1NamespacedPodStatus", "listSampleExampleComV1NamespacedGizmo",
        "createCoreV1NamespacedPodEviction"})
    EXPECT_TRUE(ids.contains(known)) << known;
}

// What kubectl looks for before it trusts server-side validation and dry runs.
TEST_F(OpenApi, PatchesSayTheirKindAndParameters) {
  const auto document = V3("apps", "v1");
  const auto& patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"],
            *json::Parse(R"({"group":"apps","version":"v1","kind":"Deployment"})"));
  EXPECT_EQ(patch["x-kubernetes-action"], Value("patch"));
  std::set<std::string> names;
  for (const auto& parameter : patch["parameters"].as_array()) names.emplace(parameter["name"].as_string());
  EXPECT_EQ(names, (std::set<std::string>{"dryRun", "fieldManager", "fieldValidation", "force"}));
  EXPECT_NE(patch["requestBody"]["content"].Find("application/strategic-merge-patch+json"), nullptr);
}

std::set<std::string> NamesOf(const Value& parameters) {
  std::set<std::string> names;
  if (parameters.is_array())
    for (const auto& parameter : parameters.as_array()) names.emplace(parameter["name"].string_or(""));
  return names;
}

TEST_F(OpenApi, WhatAllOperationsOfAPathHaveIsSaidOfThePath) {
  const auto document = V3("", "v1");
  const auto& maps = document["paths"]["/api/v1/namespaces/{namespace}/configmaps"];
  EXPECT_EQ(NamesOf(maps["parameters"]), (std::set<std::string>{"namespace", "pretty"}));
  EXPECT_EQ(NamesOf(maps["post"]["parameters"]),
            (std::set<std::string>{"dryRun", "fieldManager", "fieldValidation"}));
  EXPECT_TRUE(NamesOf(maps["delete"]["parameters"]).contains("labelSelector"));
  const auto& everywhere = document["paths"]["/api/v1/configmaps"];
  EXPECT_TRUE(NamesOf(everywhere["parameters"]).contains("watch"));
  EXPECT_EQ(everywhere["get"].Find("parameters"), nullptr);
}

TEST_F(OpenApi, MediaTypesAndAnswersOfOperations) {
  const auto document = V3("", "v1");
  const auto& paths = document["paths"];
  const auto& list = paths["/api/v1/configmaps"]["get"]["responses"]["200"]["content"];
  EXPECT_NE(list.Find("application/vnd.kubernetes.protobuf;stream=watch"), nullptr);
  const auto answer = [&](const char* path) {
    const auto& removal = paths[path]["delete"]["responses"];
    EXPECT_NE(removal.Find("202"), nullptr) << path;
    return std::string(removal["200"]["content"]["application/json"]["schema"]["$ref"].string_or(""));
  };
  EXPECT_TRUE(answer("/api/v1/namespaces/{namespace}/pods/{name}").ends_with(".Pod"));
  EXPECT_TRUE(answer("/api/v1/namespaces/{namespace}/configmaps/{name}").ends_with(".Status"));
  EXPECT_NE(paths["/api/v1/namespaces/{namespace}/pods/{name}/proxy/{path}"].Find("options"), nullptr);
  EXPECT_NE(paths.Find("/api/v1/"), nullptr);
}

TEST_F(OpenApi, SwaggerRefersToSharedParameters) {
  const auto v2 = json::Parse(OpenApiV2Document(kinds_, kVersion));
  ASSERT_TRUE(v2);
  const auto& shared = (*v2)["parameters"];
  std::size_t referred = 0;
  for (const auto& parameter : (*v2)["paths"]["/api/v1/configmaps"]["parameters"].as_array()) {
    const auto ref = parameter["$ref"].string_or("");
    constexpr std::string_view kPrefix = "#/parameters/";
    ASSERT_TRUE(ref.starts_with(kPrefix));
    EXPECT_NE(shared.Find(ref.substr(kPrefix.size())), nullptr) << ref;
    ++referred;
  }
  EXPECT_GT(referred, 5u);
}

TEST_F(OpenApi, PathsOfNoKindHaveDocuments) {
  const auto index = json::Parse(OpenApiV3Index(kinds_));
  for (const char* name : {"api", "apis", "apis/apps", "version", "logs", "openid/v1/jwks"}) {
    EXPECT_NE((*index)["paths"].Find(name), nullptr) << name;
    const auto text = OpenApiV3Information(kinds_, name, kVersion);
    ASSERT_TRUE(text) << name;
    EXPECT_EQ((*json::Parse(*text))["openapi"], Value("3.0.0"));
  }
  EXPECT_FALSE(OpenApiV3Information(kinds_, "apis/nope", kVersion));
  const auto group = json::Parse(*OpenApiV3Information(kinds_, "apis/apps", kVersion));
  EXPECT_EQ((*group)["paths"]["/apis/apps/"]["get"]["operationId"], Value("getAppsAPIGroup"));
}

TEST_F(OpenApi, SchemasCarryMergeRules) {
  const auto document = V3("", "v1");
  const auto& schemas = document["components"]["schemas"];
  const auto& containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
  EXPECT_EQ(containers["x-kubernetes-list-type"], Value("map"));
  EXPECT_EQ(containers["x-kubernetes-list-map-keys"], *json::Parse(R"(["name"])"));
  EXPECT_EQ(containers["x-kubernetes-patch-strategy"], Value("merge"));
  EXPECT_EQ(containers["x-kubernetes-patch-merge-key"], Value("name"));
  EXPECT_EQ(containers["items"],
            *json::Parse(R"({"$ref":"#/components/schemas/io.k8s.api.core.v1.Container"})"));
  const auto& pod = schemas["io.k8s.api.core.v1.Pod"]["properties"];
  EXPECT_EQ(pod["spec"]["default"], *json::Parse("{}"));
  EXPECT_EQ(pod["kind"].Find("default"), nullptr);
  EXPECT_EQ(schemas["io.k8s.api.core.v1.Container"]["properties"]["name"]["default"], Value(""));
  EXPECT_EQ(schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"],
            *json::Parse(R"([{"group":"","kind":"Pod","version":"v1"}])"));
  EXPECT_EQ(schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["format"], Value("int-or-string"));
  EXPECT_EQ(schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]["oneOf"],
            *json::Parse(R"([{"type":"string"},{"type":"number"}])"));
  EXPECT_EQ(schemas["io.k8s.api.core.v1.PodSpec"]["required"], *json::Parse(R"(["containers"])"));
}

TEST_F(OpenApi, CustomKinds) {
  const auto document = V3("sample.example.com", "v1");
  const auto& gizmo = document["components"]["schemas"]["com.example.sample.v1.Gizmo"];
  EXPECT_EQ(gizmo["description"], Value("A gizmo."));
  EXPECT_EQ(gizmo["properties"]["spec"]["properties"]["size"]["description"], Value("How big."));
  EXPECT_EQ(gizmo["properties"]["spec"]["properties"]["nul"]["nullable"], Value(true));
  EXPECT_NE(gizmo["properties"].Find("metadata"), nullptr);
  const auto& paths = document["paths"];
  EXPECT_NE(paths.Find("/apis/sample.example.com/v1/namespaces/{namespace}/gizmos/{name}/scale"), nullptr);
  const auto& patch = paths["/apis/sample.example.com/v1/namespaces/{namespace}/gizmos/{name}"]["patch"];
  EXPECT_EQ(patch["requestBody"]["content"].Find("application/strategic-merge-patch+json"), nullptr);

  const auto v2 = json::Parse(OpenApiV2Document(kinds_, kVersion));
  const auto& swagger =
      (*v2)["definitions"]["com.example.sample.v1.Gizmo"]["properties"]["spec"]["properties"];
  EXPECT_EQ(swagger["any"], *json::Parse(R"({"x-kubernetes-int-or-string":true})"));
  EXPECT_EQ(swagger["nul"], *json::Parse("{}"));
  std::vector<std::string> keywords;
  for (const auto& member : (*v2)["definitions"]["com.example.sample.v1.Gizmo"].as_object())
    keywords.emplace_back(member.first);
  EXPECT_THAT(keywords, testing::UnorderedElementsAre("type", "description", "properties",
                                                      "x-kubernetes-group-version-kind"));
}

// The bytes of the first field with this number; empty if there is none.
std::string_view FieldBytes(std::string_view message, std::uint32_t number) {
  for (WireReader reader(message); reader.NextField();) {
    if (reader.number() == number) return reader.Bytes();
    reader.Skip();
  }
  return {};
}

// Of repeated {1 name, 2 value}, the value with this name.
std::string_view NamedBytes(std::string_view message, std::uint32_t number, std::string_view name) {
  for (WireReader reader(message); reader.NextField();) {
    if (reader.number() != number) {
      reader.Skip();
      continue;
    }
    const auto entry = reader.Bytes();
    if (FieldBytes(entry, 1) == name) return FieldBytes(entry, 2);
  }
  return {};
}

TEST_F(OpenApi, ProtobufSaysWhatTheSwaggerDocumentSays) {
  const std::string json = OpenApiV2Document(kinds_, kVersion);
  const std::string document = OpenApiV2Protobuf(json);
  EXPECT_EQ(FieldBytes(document, 1), "2.0");
  const auto gizmo = NamedBytes(FieldBytes(document, 9), 1, "com.example.sample.v1.Gizmo");
  EXPECT_EQ(FieldBytes(gizmo, 4), "A gizmo.");
  EXPECT_EQ(FieldBytes(FieldBytes(gizmo, 22), 1), "object");
  const auto spec = NamedBytes(FieldBytes(gizmo, 25), 1, "spec");
  EXPECT_EQ(FieldBytes(NamedBytes(FieldBytes(spec, 25), 1, "size"), 4), "How big.");
  EXPECT_NE(FieldBytes(NamedBytes(gizmo, 31, "x-kubernetes-group-version-kind"), 2).find("\"Gizmo\""),
            std::string_view::npos);
  EXPECT_FALSE(NamedBytes(FieldBytes(document, 8), 2, "/api/v1/namespaces/{namespace}/pods/{name}").empty());
  EXPECT_EQ(OpenApiV2Protobuf("no JSON"), "");
}

TEST_F(OpenApi, OldWatchPathsOfBuiltInKinds) {
  const auto document = json::Parse(OpenApiV2Document(kinds_, kVersion));
  ASSERT_TRUE(document);
  const auto& watch = (*document)["paths"]["/api/v1/watch/namespaces/{namespace}/pods"]["get"];
  EXPECT_EQ(watch["x-kubernetes-action"].string_or(""), "watchlist");
  EXPECT_EQ(watch["operationId"].string_or(""), "watchCoreV1NamespacedPodList");
  EXPECT_EQ((*document)["paths"].Find("/apis/sample.example.com/v1/watch/gizmos"), nullptr);
}

TEST_F(OpenApi, IndexFollowsContent) {
  const auto index = json::Parse(OpenApiV3Index(kinds_));
  ASSERT_TRUE(index);
  const auto url = (*index)["paths"]["apis/sample.example.com/v1"]["serverRelativeURL"].string_or("");
  EXPECT_TRUE(url.starts_with("/openapi/v3/apis/sample.example.com/v1?hash=")) << url;
  EXPECT_NE((*index)["paths"].Find("api/v1"), nullptr);
  std::string changed = kDefinition;
  changed.replace(changed.find("How big."), 8, "How tall");
  json::Value definition = *json::Parse(changed);
  definition["metadata"]["generation"] = 2;
  const auto other = *CustomKind::Build(definition, "v1");
  const KindInfo* const before[] = {&custom_->info()};
  const KindInfo* const after[] = {&other->info()};
  EXPECT_NE(OpenApiV3Hash(before, "sample.example.com", "v1"),
            OpenApiV3Hash(after, "sample.example.com", "v1"));
  EXPECT_FALSE(OpenApiV3Document(kinds_, "nope", "v1", kVersion));
}

}  // namespace
}  // namespace flyball::api
