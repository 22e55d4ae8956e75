// What the status endpoint may change, and who is warned of what.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kMergePatch = "application/merge-patch+json";

class StatusUpdates : public ServerFixture {
 protected:
  StatusUpdates() {
    Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    Do("POST", kPods,
       R"({"metadata":{"name":"p","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"u"}]},
           "spec":{"containers":[{"name":"c","image":"i"}]}})");
  }
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  static constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";
};

TEST_F(StatusUpdates, APodKeepsItsClassAndItsOwners) {
  auto pod = Do("GET", std::string(kPods) + "/p")->value();
  pod["status"] = json::Object{{"phase", "Running"}};
  pod["metadata"].as_object().Erase("ownerReferences");
  const auto reply = Do("PUT", std::string(kPods) + "/p/status", json::Write(pod));
  EXPECT_EQ(reply->status, 200);
  const auto updated = reply->value();
  EXPECT_EQ(updated["status"]["qosClass"].string_or(""), "BestEffort");
  EXPECT_EQ(updated["status"]["phase"].string_or(""), "Running");
  EXPECT_EQ(updated["metadata"]["ownerReferences"].size(), 1u);
}

TEST_F(StatusUpdates, ADeploymentKeepsItsLabels) {
  Do("POST", kDeployments, R"({"metadata":{"name":"d","labels":{"a":"b"}},"spec":{"selector":{"matchLabels":
     {"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const auto updated =
      Do("PATCH", std::string(kDeployments) + "/d/status",
         R"({"metadata":{"labels":{"x":"y"},"annotations":{"n":"1"}},"status":{"replicas":1}})", kMergePatch)
          ->value();
  EXPECT_TRUE(updated["metadata"]["labels"]["x"].is_null());
  EXPECT_EQ(updated["metadata"]["annotations"]["n"].string_or(""), "1");
  EXPECT_EQ(updated["status"]["replicas"].int_or(0), 1);
}

TEST_F(StatusUpdates, OfAFlowSchemaChangeNoMetadata) {
  const auto updated = Do("PATCH", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/global-default/status",
                          R"({"metadata":{"annotations":{"n":"1"}}})", kMergePatch)
                           ->value();
  EXPECT_TRUE(updated["metadata"]["annotations"]["n"].is_null());
}

TEST_F(StatusUpdates, TheResizeEndpointChangesResourcesOnly) {
  const auto reply = Do("PATCH", std::string(kPods) + "/p/resize",
                        R"({"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n","containers":[{"name":"c",
      "image":"other","resources":{"requests":{"cpu":"1"}}}]}})",
                        "application/strategic-merge-patch+json");
  // BestEffort would become Burstable.
  EXPECT_EQ(reply->status, 422);
  EXPECT_NE(reply->message().find("Pod QOS Class may not change as a result of resizing"), std::string::npos);
  const auto same =
      Do("PATCH", std::string(kPods) + "/p/resize", R"({"spec":{"nodeName":"n"}})", kMergePatch);
  EXPECT_EQ(same->status, 200);
  EXPECT_TRUE(same->value()["spec"]["nodeName"].is_null());
}

TEST_F(StatusUpdates, EphemeralContainersAreAddedOnly) {
  const std::string path = std::string(kPods) + "/p/ephemeralcontainers";
  const auto added =
      Do("PATCH", path,
         R"({"metadata":{"labels":{"a":"b"}},"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}})",
         kMergePatch);
  EXPECT_EQ(added->status, 200);
  EXPECT_TRUE(added->value()["metadata"]["labels"].is_null());
  EXPECT_EQ(Do("PATCH", path, R"({"spec":{"ephemeralContainers":null}})", kMergePatch)->message(),
            "Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" "
            "may not "
            "be removed\n");
  EXPECT_EQ(Do("PATCH", path, R"({"spec":{"ephemeralContainers":[{"name":"e","image":"j"}]}})", kMergePatch)
                ->status,
            422);
}

TEST_F(StatusUpdates, LogOptionsAreChecked) {
  EXPECT_EQ(
      Do("GET", std::string(kPods) + "/p/log?tailLines=-1&limitBytes=0&sinceSeconds=0")->message(),
      "PodLogOptions \"p\" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, "
      "limitBytes: Invalid value: 0: must be greater than 0, sinceSeconds: Invalid value: 0: must be greater "
      "than 0]");
  EXPECT_EQ(Do("GET", std::string(kPods) + "/p/log?tailLines=x")->status, 400);
  EXPECT_EQ(Do("GET", std::string(kPods) + "/p/log?sinceTime=2024-01-01T00:00:00Z")->status, 200);
}

TEST_F(StatusUpdates, OfAFlowSchemaSaysWhetherItsLevelExists) {
  const std::string group = "/apis/flowcontrol.apiserver.k8s.io/v1/";
  const auto condition = [&](const std::string& name) {
    const auto schema = Do("GET", group + "flowschemas/" + name)->value();
    const auto& conditions = schema["status"]["conditions"];
    return conditions.size() == 1 ? json::Write(conditions.as_array()[0]["status"]) +
                                        std::string(conditions.as_array()[0]["reason"].string_or(""))
                                  : "none";
  };
  EXPECT_EQ(condition("catch-all"), "\"False\"Found");
  Do("POST", group + "flowschemas",
     R"({"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"l"}}})");
  EXPECT_EQ(condition("f"), "\"True\"NotFound");
  Do("POST", group + "prioritylevelconfigurations",
     R"({"metadata":{"name":"l"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}})");
  EXPECT_EQ(condition("f"), "\"False\"Found");
  Do("DELETE", group + "prioritylevelconfigurations/l");
  EXPECT_EQ(condition("f"), "\"True\"NotFound");
}

class Warnings : public ServerFixture {
 protected:
  static std::vector<std::string> Of(const Reply& reply) {
    std::vector<std::string> out;
    for (const auto value : reply.headers.GetAll("warning")) out.emplace_back(value);
    return out;
  }
};

TEST_F(Warnings, OfANameThatIsNoLabelOnCreateOnly) {
  Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  const auto created = Do("POST", "/api/v1/namespaces/default/pods", R"({"metadata":{"name":"a.b"},
      "spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A"},{"name":"A"}]}]}})");
  ASSERT_EQ(Of(*created).size(), 2u);
  EXPECT_EQ(Of(*created)[0],
            "299 - \"metadata.name: this is used in the Pod's hostname, which can result in surprising "
            "behavior; a DNS label is recommended: [must not contain dots]\"");
  const auto patched =
      Do("PATCH", "/api/v1/namespaces/default/pods/a.b", R"({"metadata":{"labels":{"a":"b"}}})", kMergePatch);
  EXPECT_EQ(patched->status, 200);
  EXPECT_TRUE(Of(*patched).empty());
}

TEST_F(Warnings, OfATemplateOnlyWhenTheSpecChanges) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  Do("POST", deployments, R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
     {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A"},
     {"name":"A"}]}]}}}})");
  EXPECT_TRUE(
      Of(*Do("PATCH", deployments + "/d", R"({"metadata":{"labels":{"a":"b"}}})", kMergePatch)).empty());
  EXPECT_EQ(Of(*Do("PATCH", deployments + "/d", R"({"spec":{"replicas":3}})", kMergePatch)).size(), 1u);
  EXPECT_TRUE(
      Of(*Do("PATCH", deployments + "/d/status", R"({"status":{"replicas":3}})", kMergePatch)).empty());
}

TEST_F(Warnings, OfServicesIngressesAndClaims) {
  const auto service = Do("POST", "/api/v1/namespaces/default/services", R"({"metadata":{"name":"s"},"spec":
      {"clusterIP":"None","sessionAffinity":"ClientIP","externalName":"x.y","ports":[{"port":1}]}})");
  EXPECT_EQ(Of(*service),
            (std::vector<std::string>{
                "299 - \"spec.SessionAffinity is ignored for headless services\"",
                "299 - \"spec.externalName is ignored when spec.type is not \\\"ExternalName\\\"\""}));
  const auto claim =
      Do("POST", "/api/v1/namespaces/default/persistentvolumeclaims", R"({"metadata":{"name":"c",
      "annotations":{"volume.beta.kubernetes.io/storage-class":"x"}},"spec":{"accessModes":["ReadWriteOnce"],
      "resources":{"requests":{"storage":"1500m"}}}})");
  EXPECT_EQ(Of(*claim).size(), 2u);
  const auto ingress = Do("POST", "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
                          R"({"metadata":{"name":"i","annotations":{"kubernetes.io/ingress.class":"x"}},
      "spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})");
  EXPECT_EQ(Of(*ingress),
            (std::vector<std::string>{"299 - \"annotation \\\"kubernetes.io/ingress.class\\\" is deprecated, "
                                      "please use 'spec.ingressClassName' instead\""}));
}

using Rules = ServerFixture;

TEST_F(Rules, OfApiServices) {
  const std::string path = "/apis/apiregistration.k8s.io/v1/apiservices";
  const auto bad = Do("POST", path, R"({"metadata":{"name":"x"},"spec":{"group":"g.io","version":"v1"}})");
  EXPECT_EQ(
      bad->message(),
      "APIService.apiregistration.k8s.io \"x\" is invalid: [metadata.name: Invalid value: \"x\": must be "
      "`spec.version+\".\"+spec.group`: \"v1.g.io\", spec.groupPriorityMinimum: Invalid value: 0: must be "
      "positive and less than 20000, spec.versionPriority: Invalid value: 0: must be positive and less than "
      "1000]");
  const auto good = Do("POST", path, R"({"metadata":{"name":"v1.g.io"},"spec":{"group":"g.io","version":"v1",
      "groupPriorityMinimum":100,"versionPriority":1}})");
  EXPECT_EQ(good->status, 201);
  EXPECT_EQ(good->value()["status"]["conditions"].as_array()[0]["reason"].string_or(""), "Local");
}

TEST_F(Rules, OfServicesOnAClusterWithOneFamily) {
  const std::string path = "/api/v1/namespaces/default/services";
  EXPECT_EQ(
      Do("POST", path, R"({"metadata":{"name":"s"},"spec":{"ipFamilies":["IPv6"],"ports":[{"port":1}]}})")
          ->message(),
      "Service \"s\" is invalid: spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this "
      "cluster");
  EXPECT_EQ(
      Do("POST", path,
         R"({"metadata":{"name":"s"},"spec":{"ipFamilyPolicy":"RequireDualStack","ports":[{"port":1}]}})")
          ->message(),
      "Service \"s\" is invalid: spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is "
      "not "
      "configured for dual-stack services");
}

TEST_F(Rules, OfOldDataSourcesAndCsiNodes) {
  const auto claim =
      Do("POST", "/api/v1/namespaces/default/persistentvolumeclaims", R"({"metadata":{"name":"c"},
      "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}},
      "dataSource":{"kind":"Foo","name":"x"}}})");
  EXPECT_EQ(claim->status, 201);
  EXPECT_TRUE(claim->value()["spec"]["dataSource"].is_null());
  EXPECT_EQ(Do("POST", "/apis/storage.k8s.io/v1/csinodes",
               R"({"metadata":{"name":"n"},"spec":{"drivers":[{"name":"d","nodeID":""}]}})")
                ->message(),
            "CSINode.storage.k8s.io \"n\" is invalid: spec.drivers[0].nodeID: Required value");
}

}  // namespace
}  // namespace flyball::server
