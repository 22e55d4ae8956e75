#include "api/wire/discovery.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/schema/storage_version.h"
#include "api/testing/recordings.h"
#include "json/json.h"

namespace flyball::api {
namespace {

constexpr std::string_view kShort[] = {"po"};
constexpr std::string_view kAll[] = {"all"};
constexpr SubresourceInfo kPodSubs[] = {
    {"status", "", "", "", "get,patch,update"},
    {"eviction", "policy", "v1", "Eviction", "create"},
    {"exec", "", "", "PodExecOptions", "create,get"},
};
constexpr SubresourceInfo kGizmoSubs[] = {
    {"status", "", "", "", "get,patch,update"},
    {"scale", "autoscaling", "v1", "Scale", "get,patch,update"},
};
const KindInfo kPod = {.group = "",
                       .version = "v1",
                       .kind = "Pod",
                       .plural = "pods",
                       .singular = "pod",
                       .short_names = kShort,
                       .categories = kAll,
                       .namespaced = true,
                       .verbs = "create,get",
                       .subresources = kPodSubs};
const KindInfo kBinding = {.version = "v1",
                           .kind = "Binding",
                           .plural = "bindings",
                           .singular = "binding",
                           .namespaced = true,
                           .verbs = "create"};
const KindInfo kHpa1 = {.group = "autoscaling", .version = "v1", .kind = "HPA", .plural = "hpas"};
const KindInfo kHpa2 = {.group = "autoscaling", .version = "v2", .kind = "HPA", .plural = "hpas"};
const KindInfo kDeployment = {
    .group = "apps", .version = "v1", .kind = "Deployment", .plural = "deployments"};
const KindInfo kGizmo = {.group = "a.example.com",
                         .version = "v1beta1",
                         .kind = "Gizmo",
                         .plural = "gizmos",
                         .singular = "gizmo",
                         .verbs = "delete,get",
                         .subresources = kGizmoSubs,
                         .custom = true};
const KindInfo* const kKinds[] = {&kGizmo, &kPod, &kHpa1, &kHpa2, &kDeployment, &kBinding};

json::Value Json(std::string_view text) {
  auto v = json::Parse(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : json::Value();
}

TEST(Discovery, VersionOrder) {
  const std::string_view sorted[] = {"v2",       "v1",  "v2beta1", "v1beta2", "v1beta1",
                                     "v1alpha1", "bar", "foo",     "v"};
  for (std::size_t i = 0; i + 1 < std::size(sorted); ++i) {
    EXPECT_LT(CompareVersions(sorted[i], sorted[i + 1]), 0) << sorted[i];
    EXPECT_GT(CompareVersions(sorted[i + 1], sorted[i]), 0) << sorted[i];
  }
}

TEST(Discovery, Groups) {
  const std::vector<std::string_view> want = {"apps", "autoscaling", "a.example.com"};
  EXPECT_EQ(GroupsOf(kKinds), want);
  EXPECT_EQ(Json(ApiGroupListDocument(kKinds))["groups"].as_array()[1],
            Json(R"({"name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2","version":"v2"},
              {"groupVersion":"autoscaling/v1","version":"v1"}],
              "preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}})"));
  EXPECT_EQ(Json(*ApiGroupDocument(kKinds, "apps")),
            Json(R"({"apiVersion":"v1","kind":"APIGroup","name":"apps",
              "preferredVersion":{"groupVersion":"apps/v1","version":"v1"},
              "versions":[{"groupVersion":"apps/v1","version":"v1"}]})"));
  EXPECT_FALSE(ApiGroupDocument(kKinds, "nope"));
  EXPECT_FALSE(ApiGroupDocument(kKinds, ""));
}

TEST(Discovery, Versions) {
  EXPECT_EQ(ApiVersionsDocument("1.2.3.4:6443"),
            R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":)"
            R"([{"clientCIDR":"0.0.0.0/0","serverAddress":"1.2.3.4:6443"}]})");
}

TEST(Discovery, ResourceList) {
  EXPECT_EQ(Json(*ApiResourceListDocument(kKinds, "", "v1")),
            Json(R"({"kind":"APIResourceList","groupVersion":"v1","resources":[
    {"name":"bindings","singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]},
    {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["create","get"],
     "shortNames":["po"],"categories":["all"],"storageVersionHash":"xPOwRZ+Yhw8="},
    {"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1",
     "kind":"Eviction","verbs":["create"]},
    {"name":"pods/exec","singularName":"","namespaced":true,"kind":"PodExecOptions","verbs":["create","get"]},
    {"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["get","patch","update"]}]})"));
  EXPECT_EQ(Json(*ApiResourceListDocument(kKinds, "apps", "v1"))["apiVersion"], json::Value("v1"));
  EXPECT_FALSE(ApiResourceListDocument(kKinds, "apps", "v9"));
}

TEST(Discovery, Aggregated) {
  const auto core = Json(AggregatedDiscoveryDocument(kKinds, true));
  EXPECT_EQ(core["apiVersion"], json::Value("apidiscovery.k8s.io/v2"));
  ASSERT_EQ(core["items"].size(), 1u);
  EXPECT_EQ(core["items"].as_array()[0]["metadata"], Json("{}"));
  EXPECT_EQ(
      core["items"].as_array()[0]["versions"].as_array()[0]["resources"].as_array()[1],
      Json(R"({"resource":"pods","responseKind":{"group":"","version":"","kind":"Pod"},"scope":"Namespaced",
    "singularResource":"pod","verbs":["create","get"],"shortNames":["po"],"categories":["all"],"subresources":[
    {"subresource":"eviction","responseKind":{"group":"policy","version":"v1","kind":"Eviction"},"verbs":["create"]},
    {"subresource":"exec","responseKind":{"group":"","version":"","kind":"PodExecOptions"},"verbs":["create","get"]},
    {"subresource":"status","responseKind":{"group":"","version":"","kind":"Pod"},
     "verbs":["get","patch","update"]}]})"));
  const auto rest = Json(AggregatedDiscoveryDocument(kKinds, false));
  EXPECT_EQ(rest["apiVersion"], json::Value("apidiscovery.k8s.io/v2"));
  ASSERT_EQ(rest["items"].size(), 3u);
  const auto& gizmo = rest["items"].as_array()[2]["versions"].as_array()[0]["resources"].as_array()[0];
  EXPECT_EQ(gizmo["responseKind"], Json(R"({"group":"a.example.com","version":"v1beta1","kind":"Gizmo"})"));
  EXPECT_EQ(gizmo["scope"], json::Value("Cluster"));
}

TEST(Discovery, ETagFollowsText) {
  EXPECT_EQ(DocumentETag("a"), DocumentETag("a"));
  EXPECT_NE(DocumentETag("a"), DocumentETag("b"));
  EXPECT_EQ(DocumentHash("").size(), 32u);
}

// The order of some lists is not promised: by their text.
json::Value SortedBy(json::Value document, const char* list) {
  auto& items = document[list].as_array();
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
    return json::Write(a["name"]) + json::Write(a["metadata"]) <
           json::Write(b["name"]) + json::Write(b["metadata"]);
  });
  return document;
}

// Upstream's own values (pkg/controlplane/instance_test.go).
TEST(Discovery, StorageVersionHashes) {
  const auto hash = [](const char* group, const char* version, const char* kind) {
    return std::string(StorageVersionHash(*FindBuiltinKind(group, version, kind)));
  };
  EXPECT_EQ(hash("", "v1", "Pod"), "xPOwRZ+Yhw8=");
  EXPECT_EQ(hash("apps", "v1", "Deployment"), "8aSe+NMegvE=");
  EXPECT_EQ(hash("events.k8s.io", "v1", "Event"), "r2yiGXH7wu8=");
  EXPECT_EQ(hash("autoscaling", "v1", "HorizontalPodAutoscaler"), "qwQve8ut294=");
  EXPECT_EQ(hash("authentication.k8s.io", "v1", "TokenReview"), "");
}

TEST(Discovery, AsRecorded) {
  const json::Value recording = ReadRecording("cases/7-protocol");
  std::vector<const KindInfo*> kinds;
  for (const auto& kind : BuiltinKinds()) kinds.push_back(&kind);
  int compared = 0;
  for (const auto& scenario : recording.as_array()) {
    for (const auto& step : scenario["steps"].as_array()) {
      const auto path = step["path"].string_or("");
      const auto& want = step["expect"]["body"];
      const bool aggregated = want["kind"].string_or("") == "APIGroupDiscoveryList";
      json::Value got;
      const char* list = nullptr;
      if (aggregated) {
        got = Json(AggregatedDiscoveryDocument(kinds, path == "/api"));
        list = "items";
      } else if (want["kind"].string_or("") == "APIGroupList") {
        got = Json(ApiGroupListDocument(kinds));
        list = "groups";
      } else if (want["kind"].string_or("") == "APIResourceList") {
        const auto gv = want["groupVersion"].string_or("");
        const auto slash = gv.find('/');
        const bool core = slash == std::string_view::npos;
        got = Json(*ApiResourceListDocument(kinds, core ? "" : gv.substr(0, slash),
                                            core ? gv : gv.substr(slash + 1)));
        list = "resources";
        // Not recorded.
        for (auto& resource : got["resources"].as_array()) resource.as_object().Erase("storageVersionHash");
      } else {
        continue;
      }
      EXPECT_EQ(SortedBy(got, list), SortedBy(want, list)) << path << '\n' << json::Write(got);
      ++compared;
    }
  }
  EXPECT_GE(compared, 6);
}

}  // namespace
}  // namespace flyball::api
