// What clients read of custom objects after their definition has changed, and when a definition is found in
// discovery.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kName = "networks.read.example.com";
constexpr const char* kV1 = "/apis/read.example.com/v1/namespaces/default/networks";
constexpr const char* kV2 = "/apis/read.example.com/v2/namespaces/default/networks";

std::string Version(const std::string& name, const std::string& properties, bool storage = true) {
  return R"({"name":")" + name + R"(","served":true,"storage":)" + (storage ? "true" : "false") +
         R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":)" +
         properties + "}}}}}";
}

class CustomReads : public ServerFixture {
 protected:
  void Define(const std::string& versions) {
    const auto reply = Do("POST", kDefinitions,
                          R"({"metadata":{"name":")" + std::string(kName) + R"("},"spec":{
      "group":"read.example.com","scope":"Namespaced","names":{"plural":"networks","kind":"Network"},"versions":[)" +
                              versions + "]}}");
    ASSERT_EQ(reply->status, 201) << reply->body;
  }
  void Redefine(const std::string& versions) {
    const std::string target = std::string(kDefinitions) + "/" + kName;
    auto definition = Do("GET", target)->value();
    definition["spec"]["versions"] = *json::Parse("[" + versions + "]");
    const auto reply = Do("PUT", target, json::Write(definition));
    ASSERT_EQ(reply->status, 200) << reply->body;
  }
  void Create(const std::string& spec) {
    const auto reply =
        Do("POST", kV1,
           R"({"apiVersion":"read.example.com/v1","kind":"Network","metadata":{"name":"n"},"spec":)" + spec +
               "}");
    ASSERT_EQ(reply->status, 201) << reply->body;
  }
  std::string Spec(const std::string& collection) {
    return json::Write(Do("GET", collection + "/n")->value()["spec"]);
  }
};

TEST_F(CustomReads, AFieldTheDefinitionDroppedIsNotShown) {
  Define(Version("v1", R"({"a":{"type":"string"},"b":{"type":"string"}})"));
  Create(R"({"a":"1","b":"2"})");
  Redefine(Version("v1", R"({"a":{"type":"string"}})"));
  EXPECT_EQ(Spec(kV1), R"({"a":"1"})");
  const auto list = Do("GET", kV1)->value();
  EXPECT_EQ(json::Write(list["items"].as_array()[0]["spec"]), R"({"a":"1"})");
  const auto watch = Do("GET", std::string(kV1) + "?watch=true");
  ASSERT_EQ(watch->events().size(), 1u);
  EXPECT_EQ(json::Write(watch->events()[0]["object"]["spec"]), R"({"a":"1"})");
}

TEST_F(CustomReads, ApplyGoesOnAfterTheDefinitionDroppedAField) {
  Define(Version("v1", R"({"a":{"type":"string"},"b":{"type":"string"}})"));
  Create(R"({"a":"1","b":"2"})");
  Redefine(Version("v1", R"({"a":{"type":"string"}})"));
  const auto applied =
      Do("PATCH", std::string(kV1) + "/n?fieldManager=me&force=true",
         R"({"apiVersion":"read.example.com/v1","kind":"Network","metadata":{"name":"n"},"spec":{"a":"3"}})",
         "application/apply-patch+yaml");
  EXPECT_EQ(applied->status, 200) << applied->body;
  EXPECT_EQ(Spec(kV1), R"({"a":"3"})");
}

TEST_F(CustomReads, NewDefaultsShow) {
  Define(Version("v1", R"({"a":{"type":"string"}})"));
  Create(R"({"a":"1"})");
  Redefine(Version("v1", R"({"a":{"type":"string"},"b":{"type":"integer","default":7}})"));
  EXPECT_EQ(Spec(kV1), R"({"a":"1","b":7})");
}

TEST_F(CustomReads, ANewObjectHasTheDefaultsOfItsStatus) {
  const auto reply = Do("POST", kDefinitions, R"({"metadata":{"name":"networks.read.example.com"},"spec":{
    "group":"read.example.com","scope":"Namespaced","names":{"plural":"networks","kind":"Network"},"versions":[
    {"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{
     "type":"object","properties":{"spec":{"type":"object"},"status":{"type":"object","default":{"phase":"Pending"},
     "properties":{"phase":{"type":"string"}}}}}}}]}})");
  ASSERT_EQ(reply->status, 201) << reply->body;
  const auto created = Do(
      "POST", kV1,
      R"({"apiVersion":"read.example.com/v1","kind":"Network","metadata":{"name":"n"},"status":{"phase":"Mine"}})");
  EXPECT_EQ(json::Write(created->value()["status"]), R"({"phase":"Pending"})");
}

TEST_F(CustomReads, AnObjectStoredInAnotherVersionIsShownInTheVersionAskedFor) {
  const std::string v1 = R"({"a":{"type":"string"},"old":{"type":"string"}})",
                    v2 = R"({"a":{"type":"string"}})";
  Define(Version("v1", v1) + "," + Version("v2", v2, false));
  Create(R"({"a":"1","old":"x"})");
  EXPECT_EQ(Do("GET", std::string(kV2) + "/n")->value()["apiVersion"].string_or(""), "read.example.com/v2");
  EXPECT_EQ(Spec(kV2), R"({"a":"1"})") << "v2 does not know the field";
  Redefine(Version("v1", v1, false) + "," + Version("v2", v2));
  EXPECT_EQ(Do("GET", std::string(kV2) + "/n")->value()["apiVersion"].string_or(""), "read.example.com/v2");
  EXPECT_EQ(Do("GET", std::string(kV1) + "/n")->value()["apiVersion"].string_or(""), "read.example.com/v1");
  EXPECT_EQ(Spec(kV2), R"({"a":"1"})");
}

TEST_F(CustomReads, WhoFindsADefinitionInDiscoveryCanUpdateIt) {
  Define(Version("v1", "{}"));
  const auto resources = Do("GET", "/apis/read.example.com/v1")->value();
  ASSERT_EQ(resources["resources"].size(), 1u);
  const std::string target = std::string(kDefinitions) + "/" + kName;
  const auto definition = Do("GET", target)->value();
  EXPECT_GE(definition["status"]["conditions"].size(), 2u);
  EXPECT_EQ(Do("PUT", target, json::Write(definition))->status, 200);
}

}  // namespace
}  // namespace flyball::server
