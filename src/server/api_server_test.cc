// What every client relies on.
#include "api/custom/crd_from_struct.h"
#include "api/types/core.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

struct RunnerSpec {
  PodTemplateSpec template_;
  LabelSelector selector;
  static constexpr auto kFields =
      Fields(Field{"template", &RunnerSpec::template_}, Field{"selector", &RunnerSpec::selector});
};
using Runner = CustomResource<RunnerSpec, "example.com", "v1", "Runner">;

class ApiServerTest : public ServerFixture {
 protected:
  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
};

TEST_F(ApiServerTest, StartsWithTheSystemNamespaces) {
  const auto list = Do("GET", "/api/v1/namespaces");
  EXPECT_EQ(list->status, 200);
  EXPECT_EQ(list->value()["items"].size(), 4u);
}

TEST_F(ApiServerTest, AStaleVersionIsAConflictAndANoOpWritesNothing) {
  const auto created = Do("POST", kMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})");
  ASSERT_EQ(created->status, 201);
  const std::string path = std::string(kMaps) + "/a";
  const auto version = created->value()["metadata"]["resourceVersion"];
  const auto same = Do("PATCH", path, R"({"data":{"x":"1"}})", "application/merge-patch+json");
  EXPECT_EQ(same->value()["metadata"]["resourceVersion"], version);
  const auto changed = Do("PATCH", path, R"({"data":{"x":"2"}})", "application/merge-patch+json");
  EXPECT_NE(changed->value()["metadata"]["resourceVersion"], version);
  const auto stale = Do("PUT", path, json::Write(created->value()));
  EXPECT_EQ(stale->status, 409);
  EXPECT_EQ(stale->value()["reason"].string_or(""), "Conflict");
}

TEST_F(ApiServerTest, AWatchSeesEveryChangeOnceInOrder) {
  const auto list = Do("GET", kMaps);
  const std::string version(list->value()["metadata"]["resourceVersion"].string_or(""));
  const auto watch = Do("GET", std::string(kMaps) + "?watch=true&resourceVersion=" + version);
  Do("POST", kMaps, R"({"metadata":{"name":"a"}})");
  Do("PATCH", std::string(kMaps) + "/a", R"({"data":{"x":"1"}})", "application/merge-patch+json");
  Do("DELETE", std::string(kMaps) + "/a");
  sim_.RunReady();
  const auto events = watch->events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["type"].string_or(""), "ADDED");
  EXPECT_EQ(events[1]["type"].string_or(""), "MODIFIED");
  EXPECT_EQ(events[2]["type"].string_or(""), "DELETED");
  EXPECT_FALSE(watch->ended);
  const auto replay = Do("GET", std::string(kMaps) + "?watch=true&resourceVersion=" + version);
  sim_.RunReady();
  EXPECT_EQ(replay->body, watch->body);
}

TEST_F(ApiServerTest, AWatchEndsWhenItsTimeIsUp) {
  const auto watch = Do("GET", std::string(kMaps) + "?watch=true&timeoutSeconds=5");
  sim_.RunFor(std::chrono::seconds(4));
  EXPECT_FALSE(watch->ended);
  sim_.RunFor(std::chrono::seconds(2));
  EXPECT_TRUE(watch->ended);
}

TEST_F(ApiServerTest, FinalizersHoldAnObjectUntilTheyAreGone) {
  Do("POST", kMaps, R"({"metadata":{"name":"f","finalizers":["example.com/hold"]}})");
  const std::string path = std::string(kMaps) + "/f";
  EXPECT_FALSE(Do("DELETE", path)->value()["metadata"]["deletionTimestamp"].is_null());
  EXPECT_EQ(Do("GET", path)->status, 200);
  Do("PATCH", path, R"({"metadata":{"finalizers":null}})", "application/merge-patch+json");
  EXPECT_EQ(Do("GET", path)->status, 404);
}

TEST_F(ApiServerTest, PagesAddUpToTheList) {
  for (int i = 0; i < 5; ++i) Do("POST", kMaps, R"({"metadata":{"name":"m)" + std::to_string(i) + R"("}})");
  std::vector<std::string> names;
  std::string token;
  do {
    const auto page = Do("GET", std::string(kMaps) + "?limit=2&continue=" + token)->value();
    for (const auto& item : page["items"].as_array())
      names.emplace_back(item["metadata"]["name"].string_or(""));
    token = page["metadata"]["continue"].string_or("");
    Do("POST", kMaps, R"({"metadata":{"generateName":"later-"}})");  // not in the list that was begun
  } while (!token.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"m0", "m1", "m2", "m3", "m4"}));
}

TEST_F(ApiServerTest, WhoMayNotIsTold) {
  const auto eve = server_->InProcess({"eve", "", {}, {}});
  const auto refused = Start(*eve, "GET", kMaps);
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->value()["message"].string_or(""),
            "configmaps is forbidden: User \"eve\" cannot list resource \"configmaps\" in API group \"\" in "
            "the namespace "
            "\"default\"");
  Do("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
     R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
         "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]})");
  EXPECT_EQ(Start(*eve, "GET", kMaps)->status, 200);
  EXPECT_EQ(Start(*eve, "DELETE", std::string(kMaps) + "/x")->status, 403);
}

TEST_F(ApiServerTest, ACustomKindIsServedAndGoesWithItsDefinition) {
  const auto made = Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
    "metadata":{"name":"nets.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"nets","kind":"Net"},
            "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
              "properties":{"spec":{"type":"object","properties":{"cidr":{"type":"string"}}}}}}}]}})");
  ASSERT_EQ(made->status, 201) << made->body;
  sim_.RunReady();
  const std::string nets = "/apis/example.com/v1/namespaces/default/nets";
  const auto net = Do(
      "POST", nets,
      R"({"apiVersion":"example.com/v1","kind":"Net","metadata":{"name":"n"},"spec":{"cidr":"x","other":1}})");
  ASSERT_EQ(net->status, 201) << net->body;
  EXPECT_TRUE(net->value()["spec"]["other"].is_null());
  Do("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nets.example.com");
  sim_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Do("GET", nets)->status, 404);
}

// Large enough to be sent while it is made.
TEST_F(ApiServerTest, ALargeListIsWhole) {
  const std::string ballast(20000, 'x');
  for (int i = 0; i < 120; ++i)
    ASSERT_EQ(
        Do("POST", kMaps,
           R"({"metadata":{"name":"m)" + std::to_string(1000 + i) + R"("},"data":{"x":")" + ballast + "\"}}")
            ->status,
        201);
  const auto list = Do("GET", kMaps);
  ASSERT_TRUE(list->ended);
  EXPECT_GT(list->body.size(), 120u * ballast.size());
  EXPECT_EQ(list->value()["items"].size(), 120u);
  EXPECT_EQ(list->value()["items"].as_array()[119]["metadata"]["name"].string_or(""), "m1119");
  const auto page = Do("GET", std::string(kMaps) + "?limit=100")->value();
  EXPECT_EQ(page["items"].size(), 100u);
  EXPECT_EQ(page["metadata"]["remainingItemCount"].int_or(0), 20);
  const std::string token(page["metadata"]["continue"].string_or(""));
  Do("DELETE", std::string(kMaps) + "/m1110");  // the list goes on as it was
  const auto rest = Do("GET", std::string(kMaps) + "?limit=100&continue=" + token)->value();
  EXPECT_EQ(rest["items"].size(), 20u);
  EXPECT_EQ(rest["metadata"]["resourceVersion"].string_or(""),
            page["metadata"]["resourceVersion"].string_or("-"));
}

TEST_F(ApiServerTest, ACollectionIsDeletedWhole) {
  for (int i = 0; i < 300; ++i)
    Do("POST", kMaps,
       R"({"metadata":{"name":"m)" + std::to_string(i) + R"(","labels":{"n":")" + std::to_string(i % 3) +
           "\"}}}");
  const auto deleted = Do("DELETE", std::string(kMaps) + "?labelSelector=n%3D1");
  EXPECT_EQ(deleted->status, 200);
  EXPECT_EQ(deleted->value()["items"].size(), 100u);
  EXPECT_EQ(Do("GET", kMaps)->value()["items"].size(), 200u);
}

TEST_F(ApiServerTest, EventsGoAfterTheirTime) {
  const auto made = Do(
      "POST", "/api/v1/namespaces/default/events",
      R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"reason":"R"})");
  ASSERT_EQ(made->status, 201) << made->body;
  sim_.RunFor(std::chrono::minutes(59));
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/default/events/e")->status, 200);
  sim_.RunFor(std::chrono::minutes(2));
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/default/events/e")->status, 404);
}

TEST_F(ApiServerTest, ACustomStructMayHoldTheApisOwnAndIsMergedAsTheyAre) {
  const auto defined = Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                          json::Write(CustomResourceDefinitionOf<Runner>()));
  ASSERT_EQ(defined->status, 201) << defined->body;
  const std::string runners = "/apis/example.com/v1/namespaces/default/runners";
  const auto apply = [&](const std::string& manager, const std::string& container) {
    return Do("PATCH", runners + "/a?fieldManager=" + manager,
              R"({"apiVersion":"example.com/v1","kind":"Runner","metadata":{"name":"a"},"spec":{"template":{)"
              R"("metadata":{"labels":{"a":"b"}},"spec":{"containers":[)" +
                  container + "]}}}}",
              "application/apply-patch+yaml");
  };
  const auto first = apply("one", R"({"name":"x","image":"i","ports":[{"containerPort":80}]})");
  ASSERT_EQ(first->status, 201) << first->body;
  const json::Value made = first->value()["spec"]["template"];
  EXPECT_EQ(made["metadata"]["labels"]["a"].string_or(""), "b");
  EXPECT_EQ(made["spec"]["containers"].as_array()[0]["ports"].as_array()[0]["protocol"].string_or(""), "TCP");
  const auto second = apply("two", R"({"name":"y","resources":{"limits":{"cpu":1}}})");
  ASSERT_EQ(second->status, 200) << second->body;
  EXPECT_EQ(second->value()["spec"]["template"]["spec"]["containers"].size(), 2u);
  const auto wrong =
      Do("PATCH", runners + "/a", R"({"spec":{"template":{"spec":{"containers":[{"name":"x","image":1}]}}}})",
         "application/merge-patch+json");
  EXPECT_EQ(wrong->status, 422) << wrong->body;
}

}  // namespace
}  // namespace flyball::server
