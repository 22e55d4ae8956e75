// Unknown and duplicate fields: in which order they are named. The texts are kube-apiserver's.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kStrictMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kStrictDeployments = "/apis/apps/v1/namespaces/default/deployments";
constexpr const char* kStrictSpec =
    R"("selector":{"matchLabels":{"app":"n"}},"template":{"metadata":{"labels":{"app":"n"}},)"
    R"("spec":{"containers":[{"name":"n","image":"n"}]}})";

class StrictFields : public ServerFixture {
 protected:
  StrictFields() {
    Do("POST", kStrictDeployments,
       std::string(R"({"metadata":{"name":"base"},"spec":{)") + kStrictSpec + "}}");
  }
  std::string Said(const char* method, std::string path, std::string body,
                   const char* type = "application/json") {
    path += "?fieldManager=m&dryRun=All&fieldValidation=Strict";
    const auto reply = Do(method, path, std::move(body), type);
    const std::string message = reply->status < 300 ? "ok" : reply->message();
    const std::size_t strict = message.find("strict decoding");
    return strict == std::string::npos ? message : message.substr(strict);
  }
};

TEST_F(StrictFields, AreNamedAsJsonHasThem) {
  EXPECT_EQ(Said("POST", kStrictDeployments,
                 std::string(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},)") +
                     R"("spec":{"unknownField":"foo","replicas":2,"replicas":3,)" + kStrictSpec + "}}"),
            R"(strict decoding error: unknown field "spec.unknownField", duplicate field "spec.replicas")");
}

TEST_F(StrictFields, OfYamlAreSorted) {
  EXPECT_EQ(Said("POST", kStrictMaps,
                 "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  zz: 1\n  aa: 2\n  name: b\n"
                 "zroot: 1\naroot: 2\n",
                 "application/yaml"),
            "strict decoding error: yaml: unmarshal errors:\n  line 7: key \"name\" already set in map, "
            "unknown field \"aroot\", unknown field \"metadata.aa\", unknown field \"metadata.zz\", "
            "unknown field \"zroot\"");
}

TEST_F(StrictFields, OfPatchesComeAfterDuplicatesOfThePatch) {
  const std::string base = std::string(kStrictDeployments) + "/base";
  EXPECT_EQ(Said("PATCH", base, R"({"z":1,"a":2,"spec":{"zz":1,"replicas":1,"aa":2,"replicas":2}})",
                 "application/merge-patch+json"),
            R"(strict decoding error: duplicate field "spec.replicas", unknown field "a", )"
            R"(unknown field "spec.aa", unknown field "spec.zz", unknown field "z")");
  EXPECT_EQ(Said("PATCH", base,
                 R"({"z":1,"spec":{"zz":1,"replicas":1,"replicas":2,)"
                 R"("template":{"spec":{"zzz":1,"containers":[{"name":"n","zc":1,"ac":2}]}}}})",
                 "application/strategic-merge-patch+json"),
            R"(strict decoding error: duplicate field "spec.replicas", )"
            R"(unknown field "spec.template.spec.containers[0].ac", )"
            R"(unknown field "spec.template.spec.containers[0].zc", unknown field "spec.template.spec.zzz", )"
            R"(unknown field "spec.zz", unknown field "z")");
  EXPECT_EQ(Said("PATCH", base,
                 R"([{"op":"add","path":"/spec/zz","value":{"b":1,"b":2},"foo":1,"op":"add","bar":2},)"
                 R"({"op":"add","path":"/spec/aa","value":1},{"op":"add","path":"/aa","value":1}])",
                 "application/json-patch+json"),
            R"(strict decoding error: json patch duplicate field "[0].value.b", )"
            R"(json patch unknown field "[0].foo", json patch duplicate field "[0].op", )"
            R"(json patch unknown field "[0].bar", unknown field "aa", unknown field "spec.aa", )"
            R"(unknown field "spec.zz")");
}

TEST_F(StrictFields, OfAnApplyCountOnlyIfItSucceeds) {
  constexpr const char* kApply = "application/apply-patch+yaml";
  const std::string map = std::string(kStrictMaps) + "/a1";
  const std::string start = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a1\ndata:\n  k: v\n  k: w\n";
  EXPECT_EQ(Said("PATCH", map, start, kApply),
            "strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n"
            "  line 7: key \"k\" already set in map");
  EXPECT_EQ(
      Said("PATCH", map, start + "zz: 1\n", kApply),
      "failed to create typed patch object (/a1; /v1, Kind=ConfigMap): .zz: field not declared in schema");
}

TEST_F(StrictFields, OfCustomObjectsAreSortedByWhatFindsThem) {
  Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
     R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
         "metadata":{"name":"stricts.e.x"},"spec":{"group":"e.x","scope":"Namespaced",
         "names":{"plural":"stricts","kind":"Strict"},"versions":[{"name":"v1","served":true,"storage":true,
         "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
           "count":{"type":"integer"},"object":{"type":"object","x-kubernetes-embedded-resource":true,
           "x-kubernetes-preserve-unknown-fields":true}}}}}}}]}})");
  EXPECT_EQ(
      Said("POST", "/apis/e.x/v1/namespaces/default/stricts",
           R"({"zr":1,"ar":2,"apiVersion":"e.x/v1","kind":"Strict","metadata":{"name":"a","zz":1,"aa":2},)"
           R"("spec":{"z":1,"count":1,"a":1,"count":2,"object":{"apiVersion":"v1","kind":"Pod",)"
           R"("metadata":{"name":"p","zz":1,"aa":2}}}})"),
      R"(strict decoding error: duplicate field "spec.count", unknown field "metadata.aa", )"
      R"(unknown field "metadata.zz", unknown field "ar", unknown field "spec.a", unknown field "spec.z", )"
      R"(unknown field "zr", unknown field "spec.object.metadata.aa", )"
      R"(unknown field "spec.object.metadata.zz")");
}

}  // namespace
}  // namespace flyball::server
