// What the server says of what it serves: APIServices, component statuses, OpenAPI, definitions on their way
// out.
#include "server/endpoints/component_status.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kGadgets = "/apis/ex.com/v1/namespaces/default/gadgets";
constexpr const char* kGadgetDefinition = R"({"metadata":{"name":"gadgets.ex.com"},"spec":{"group":"ex.com",
    "names":{"kind":"Gadget","plural":"gadgets"},"scope":"Namespaced","versions":[
    {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
    {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})";

class WhatIsServed : public ServerFixture {
 protected:
  std::shared_ptr<Reply> Get(const std::string& target) { return Do("GET", target); }
  int CodeOf(const std::string& service) { return Get(std::string(kServices) + "/" + service)->status; }
  json::Value Service(const std::string& name) { return Get(std::string(kServices) + "/" + name)->value(); }
  std::string Condition(const json::Value& object, const char* type) {
    if (const auto& list = object["status"]["conditions"]; list.is_array())
      for (const auto& condition : list.as_array())
        if (condition["type"].string_or("") == type) return std::string(condition["reason"].string_or(""));
    return "";
  }
  const std::string definition_ = std::string(kDefinitions) + "/gadgets.ex.com";
};

TEST_F(WhatIsServed, EveryBuiltInVersionHasALocalApiService) {
  const json::Value apps = Service("v1.apps");
  EXPECT_EQ(apps["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"].string_or(""), "onstart");
  EXPECT_EQ(apps["spec"]["groupPriorityMinimum"].int_or(0), 17800);
  EXPECT_EQ(apps["spec"]["versionPriority"].int_or(0), 15);
  EXPECT_EQ(Condition(apps, "Available"), "Local");
  EXPECT_EQ(Service("v1.")["spec"]["groupPriorityMinimum"].int_or(0), 18000);
  EXPECT_EQ(Service("v2.autoscaling")["spec"]["versionPriority"].int_or(0), 30);
  EXPECT_EQ(CodeOf("v1.apiregistration.k8s.io"), 404);
}

TEST_F(WhatIsServed, ApiServicesOfBuiltInGroupsAreNotMadeAgainBeforeTheNextStart) {
  EXPECT_EQ(Do("DELETE", std::string(kServices) + "/v1.apps")->status, 200);
  EXPECT_EQ(CodeOf("v1.apps"), 404);
}

TEST_F(WhatIsServed, CustomVersionsHaveApiServicesAsLongAsTheyAreServed) {
  ASSERT_EQ(Do("POST", kDefinitions, kGadgetDefinition)->status, 201);
  EXPECT_EQ(
      Service("v1.ex.com")["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"].string_or(""),
      "true");
  EXPECT_EQ(Service("v1.ex.com")["spec"]["groupPriorityMinimum"].int_or(0), 1000);
  ASSERT_EQ(CodeOf("v2.ex.com"), 200);
  json::Value definition = Get(definition_)->value();
  definition["spec"]["versions"].as_array()[1]["served"] = false;
  ASSERT_EQ(Do("PUT", definition_, json::Write(definition))->status, 200);
  EXPECT_EQ(CodeOf("v2.ex.com"), 404);
  EXPECT_EQ(CodeOf("v1.ex.com"), 200);
  ASSERT_EQ(Do("DELETE", definition_)->status, 200);
  EXPECT_EQ(CodeOf("v1.ex.com"), 404);
}

TEST_F(WhatIsServed, ApiServicesOfCustomGroupsAreKeptAsTheyShouldBe) {
  ASSERT_EQ(Do("POST", kDefinitions, kGadgetDefinition)->status, 201);
  ASSERT_EQ(Do("DELETE", std::string(kServices) + "/v1.ex.com")->status, 200);
  ASSERT_EQ(CodeOf("v1.ex.com"), 200);
  json::Value changed = Service("v1.ex.com");
  changed["spec"]["versionPriority"] = 7;
  ASSERT_EQ(Do("PUT", std::string(kServices) + "/v1.ex.com", json::Write(changed))->status, 200);
  EXPECT_EQ(Service("v1.ex.com")["spec"]["versionPriority"].int_or(0), 100);
  // Without the label it is its user's.
  changed = Service("v1.ex.com");
  changed["metadata"].as_object().Erase("labels");
  changed["spec"]["versionPriority"] = 7;
  ASSERT_EQ(Do("PUT", std::string(kServices) + "/v1.ex.com", json::Write(changed))->status, 200);
  ASSERT_EQ(Do("DELETE", definition_)->status, 200);
  EXPECT_EQ(Service("v1.ex.com")["spec"]["versionPriority"].int_or(0), 7);
}

TEST_F(WhatIsServed, ADefinitionGoesWhenTheLastObjectHasGone) {
  ASSERT_EQ(Do("POST", kDefinitions, kGadgetDefinition)->status, 201);
  ASSERT_EQ(Do("POST", kGadgets, R"({"apiVersion":"ex.com/v1","kind":"Gadget",
      "metadata":{"name":"held","finalizers":["ex.com/hold"]}})")
                ->status,
            201);
  ASSERT_EQ(Do("DELETE", definition_)->status, 200);
  EXPECT_EQ(Condition(Get(definition_)->value(), "Terminating"), "InstanceDeletionInProgress");
  const auto refused = Do("POST", kGadgets, R"({"metadata":{"name":"late"}})");
  EXPECT_EQ(refused->status, 405);
  EXPECT_EQ(refused->message(), "create not allowed while custom resource definition is terminating");
  json::Value held = Get(std::string(kGadgets) + "/held")->value();
  held["metadata"].as_object().Erase("finalizers");
  ASSERT_EQ(Do("PUT", std::string(kGadgets) + "/held", json::Write(held))->status, 200);
  EXPECT_EQ(Get(definition_)->status, 404);
}

TEST_F(WhatIsServed, ComponentsOfThisProcessSayHowTheyAre) {
  bool well = true;
  server_->components().Add("scheduler", [&well]() -> Status {
    if (well) return {};
    return Unexpected(InternalError("stuck"));
  });
  const std::string target = "/api/v1/componentstatuses/scheduler";
  const auto reply = Get(target);
  EXPECT_EQ(json::Write(reply->value()),
            R"({"kind":"ComponentStatus","apiVersion":"v1","metadata":{"name":"scheduler"},)"
            R"("conditions":[{"type":"Healthy","status":"True","message":"ok"}]})");
  EXPECT_EQ(reply->headers.Get("warning"), "299 - \"v1 ComponentStatus is deprecated in v1.19+\"");
  well = false;
  const json::Value condition = Get(target)->value()["conditions"].as_array()[0];
  EXPECT_EQ(condition["status"].string_or(""), "False");
  EXPECT_EQ(condition["message"].string_or(""), "stuck");
  EXPECT_EQ(
      Get("/api/v1/componentstatuses/etcd-0")->value()["conditions"].as_array()[0]["status"].string_or(""),
      "True");
  EXPECT_EQ(Get("/api/v1/componentstatuses/nope")->message(), "componentstatus \"nope\" not found");
}

TEST_F(WhatIsServed, AnOpenApiAddressWithItsHashIsForEver) {
  const json::Value index = Get("/openapi/v3")->value();
  const std::string url(index["paths"]["apis/apps/v1"]["serverRelativeURL"].string_or(""));
  const auto document = Get(url);
  EXPECT_EQ(document->status, 200);
  EXPECT_EQ(document->headers.Get("etag"), '"' + url.substr(url.find('=') + 1) + '"');
  EXPECT_EQ(document->headers.Get("cache-control"), "public, immutable");
  const auto moved = Get("/openapi/v3/apis/apps/v1?hash=AAAA");
  EXPECT_EQ(moved->status, 301);
  EXPECT_EQ(moved->headers.Get("location"), url);
  EXPECT_EQ(Get("/openapi/v3/apis/apps/v1")->headers.Get("cache-control"), "no-cache, private");
}

}  // namespace
}  // namespace flyball::server
