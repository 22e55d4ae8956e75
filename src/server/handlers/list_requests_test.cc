// How lists, gets, watches and collection deletes read their options.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

class ListRequests : public ServerFixture {
 protected:
  ListRequests() {
    for (const char* name : {"a", "b", "c"})
      Do("POST", kMaps, std::string(R"({"metadata":{"name":")") + name + R"("}})");
  }
  std::shared_ptr<Reply> List(const std::string& query) { return Do("GET", kMaps + ("?" + query)); }
  std::vector<std::string> Names(const std::string& query) {
    std::vector<std::string> names;
    const auto list = List(query)->value();
    for (const auto& item : list["items"].as_array())
      names.emplace_back(item["metadata"]["name"].string_or(""));
    return names;
  }
  std::size_t Causes(const std::string& query) { return List(query)->value()["details"]["causes"].size(); }
};

using Listed = std::vector<std::string>;

TEST_F(ListRequests, EveryWrongOptionIsNamed) {
  EXPECT_EQ(Causes("resourceVersionMatch=Foo"), 2u);
  EXPECT_EQ(Causes("resourceVersionMatch=Foo&continue=x&sendInitialEvents=true"), 4u);
  EXPECT_EQ(Causes("watch=true&resourceVersionMatch=Foo"), 2u);
  EXPECT_EQ(List("watch=true&sendInitialEvents=true&resourceVersionMatch=Foo")->message(),
            "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents "
            "requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "
            "\"Foo\": supported values: \"NotOlderThan\"]");
}

TEST_F(ListRequests, TheBookmarkAfterTheInitialEventsHasTheVersionOfTheList) {
  const auto watch =
      List("watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  const auto events = watch->events();
  ASSERT_EQ(events.size(), 4u) << watch->body;
  const auto& metadata = events.back()["object"]["metadata"];
  EXPECT_EQ(metadata["annotations"]["k8s.io/initial-events-end"].string_or(""), "true");
  EXPECT_EQ(metadata["resourceVersion"], List("")->value()["metadata"]["resourceVersion"]);
}

TEST_F(ListRequests, ATokenIsOfTheNamespaceThatIsListed) {
  const std::string token(List("limit=2")->value()["metadata"]["continue"].string_or(""));
  EXPECT_EQ(Names("limit=2&continue=" + token), (Listed{"c"}));
  // {"v":"meta.k8s.io/v1","rv":-1,"start":"b"}: goes on from the newest state.
  EXPECT_EQ(Names("continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYiJ9"), (Listed{"b", "c"}));
  // ... "start":"../x"
  EXPECT_EQ(List("continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4veCJ9")->message(),
            "invalid continue token: continue key is not valid: ../x");
}

TEST_F(ListRequests, ATokenExpiresWithTheStoresHistoryAlsoIfTheKindIsQuiet) {
  const std::string token(List("limit=2")->value()["metadata"]["continue"].string_or(""));
  ASSERT_TRUE(store_->Compact(store_->CurrentRevision()));  // the list's own version: still there
  EXPECT_EQ(Names("limit=2&continue=" + token), (Listed{"c"}));
  Do("POST", "/api/v1/namespaces", R"({"metadata":{"name":"other"}})");
  ASSERT_TRUE(store_->Compact(store_->CurrentRevision()));
  const auto expired = List("limit=2&continue=" + token);
  EXPECT_EQ(expired->status, 410);
  const std::string fresh(expired->value()["metadata"]["continue"].string_or(""));
  EXPECT_EQ(Names("limit=2&continue=" + fresh), (Listed{"c"}));
}

TEST_F(ListRequests, AnExactVersionOfTheFutureIsNotWaitedFor) {
  for (const char* query : {"resourceVersion=9999&resourceVersionMatch=Exact", "resourceVersion=9999&limit=1",
                            // {"v":"meta.k8s.io/v1","rv":9999,"start":"b"}
                            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OSwic3RhcnQiOiJiIn0"}) {
    const auto reply = List(query);
    EXPECT_EQ(reply->status, 504) << query;
    const auto status = reply->value();
    EXPECT_EQ(status["details"]["causes"].as_array()[0]["reason"].string_or(""), "ResourceVersionTooLarge");
    EXPECT_TRUE(status["details"]["retryAfterSeconds"].is_null());
  }
}

TEST_F(ListRequests, AWatchOfANameSeesThatObjectAlone) {
  const std::string target = "/api/v1/watch/namespaces/default/configmaps/b";
  const auto watch = Do("GET", target);
  ASSERT_EQ(watch->events().size(), 1u);
  EXPECT_EQ(watch->events()[0]["object"]["metadata"]["name"].string_or(""), "b");
  EXPECT_EQ(Do("GET", target + "?fieldSelector=metadata.name%3Dc")->message(),
            "fieldSelector metadata.name doesn't match requested name");
}

TEST_F(ListRequests, DeleteOptionsMayBeOfAnyVersion) {
  for (const auto& [name, version] :
       {std::pair{"a", "coordination.k8s.io/v1"}, {"b", "meta/v1"}, {"c", "meta.k8s.io/v1"}}) {
    const std::string body = std::string(R"({"kind":"DeleteOptions","apiVersion":")") + version + R"("})";
    EXPECT_EQ(Do("DELETE", std::string(kMaps) + "/" + name, body)->status, 200) << version;
  }
  EXPECT_EQ(Do("DELETE", std::string(kMaps) + "/a", R"({"kind":"Pod","apiVersion":"v1"})")->status, 400);
}

TEST_F(ListRequests, GetHasNoListOptions) {
  EXPECT_EQ(Do("GET", kMaps + std::string("/a?resourceVersionMatch=Exact&labelSelector=a=b=c"))->status, 200);
  const auto wrong = Do("GET", kMaps + std::string("/a?resourceVersion=abc"));
  EXPECT_EQ(wrong->status, 500);
  EXPECT_EQ(wrong->message(),
            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax");
}

TEST_F(ListRequests, NothingIsCreatedUnderAName) {
  EXPECT_EQ(Do("POST", kMaps + std::string("/x"), R"({"metadata":{"name":"x"}})")->status, 405);
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/x", R"({"metadata":{"name":"x"}})")->status, 405);
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/x")->status, 404);
}

TEST_F(ListRequests, DeleteCollectionTakesAPage) {
  const auto deleted = Do("DELETE", kMaps + std::string("?limit=2"))->value();
  EXPECT_EQ(deleted["items"].size(), 2u);
  EXPECT_EQ(Names(""), (Listed{"c"}));
}

TEST_F(ListRequests, ADeleteBodyTakesThePlaceOfTheQuery) {
  EXPECT_EQ(Do("DELETE", kMaps + std::string("/a?dryRun=All"))->status, 200);
  EXPECT_EQ(Names(""), (Listed{"a", "b", "c"}));
  Do("DELETE", kMaps + std::string("/a?dryRun=All"), R"({"kind":"DeleteOptions","apiVersion":"v1"})");
  EXPECT_EQ(Names(""), (Listed{"b", "c"}));
  const auto both = Do("DELETE", kMaps + std::string("/b"),
                       R"({"orphanDependents":true,"propagationPolicy":"Foo","dryRun":["x"]})");
  EXPECT_EQ(both->value()["details"]["causes"].size(), 3u);
}

}  // namespace
}  // namespace flyball::server
