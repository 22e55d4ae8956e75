#include "api/select/json_path.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::api {
namespace {

const json::Value& Document() {
  static const json::Value document = *json::Parse(R"({
    "metadata":{"name":"x","labels":{"app.kubernetes.io/name":"web","a/b":"c"}},
    "spec":{"replicas":3,"ports":[{"name":"http","port":80},{"name":"https","port":443},{"name":"dns","port":53}],
            "list":[10,11,12,13],"enabled":true,"ratio":0.5},
    "status":{"conditions":[{"type":"Ready","status":"False","reason":"x"},{"type":"Synced","status":"True"}]}})");
  return document;
}

std::string Found(std::string_view path) {
  auto parsed = JsonPath::Parse(path);
  if (!parsed) return "error: " + parsed.error().message();
  std::string out;
  for (const auto* v : parsed->Evaluate(Document())) out += (out.empty() ? "" : " ") + json::Write(*v);
  return out;
}

TEST(JsonPath, Fields) {
  EXPECT_EQ(Found(".metadata.name"), R"("x")");
  EXPECT_EQ(Found("metadata.name"), R"("x")");
  EXPECT_EQ(Found("{.metadata.name}"), R"("x")");
  EXPECT_EQ(Found("$.metadata.name"), R"("x")");
  EXPECT_EQ(Found(R"(.metadata.labels.app\.kubernetes\.io/name)"), R"("web")");
  EXPECT_EQ(Found(".metadata.labels['app.kubernetes.io/name']"), R"("web")");
  EXPECT_EQ(Found(".metadata['name','labels'].a/b"), R"("c")");
  EXPECT_EQ(Found(".metadata.nothing.at.all"), "");
  EXPECT_EQ(Found(".spec.replicas.deeper"), "");
}

TEST(JsonPath, Arrays) {
  EXPECT_EQ(Found(".spec.list[0]"), "10");
  EXPECT_EQ(Found(".spec.list[-1]"), "13");
  EXPECT_EQ(Found(".spec.list[-2]"), "12");
  EXPECT_EQ(Found(".spec.list[9]"), "");
  EXPECT_EQ(Found(".spec.list[-9]"), "");
  EXPECT_EQ(Found(".spec.list[1:3]"), "11 12");
  EXPECT_EQ(Found(".spec.list[1:]"), "11 12 13");
  EXPECT_EQ(Found(".spec.list[:2]"), "10 11");
  EXPECT_EQ(Found(".spec.list[:-1]"), "10 11 12");
  EXPECT_EQ(Found(".spec.list[0:4:2]"), "10 12");
  EXPECT_EQ(Found(".spec.list[0,2]"), "10 12");
  EXPECT_EQ(Found(".spec.list[*]"), "10 11 12 13");
  EXPECT_EQ(Found(".spec.ports[*].port"), "80 443 53");
  EXPECT_EQ(Found(".metadata.labels.*"), R"("web" "c")");
  EXPECT_EQ(Found("..port"), "80 443 53");
}

TEST(JsonPath, Filters) {
  EXPECT_EQ(Found(R"(.status.conditions[?(@.type=="Ready")].status)"), R"("False")");
  EXPECT_EQ(Found(R"(.status.conditions[?(@.type=='Synced')].status)"), R"("True")");
  EXPECT_EQ(Found(R"(.status.conditions[?( @.type != "Ready" )].type)"), R"("Synced")");
  EXPECT_EQ(Found(".spec.ports[?(@.port>=80)].name"), R"("http" "https")");
  EXPECT_EQ(Found(".spec.ports[?(@.port<80)].name"), R"("dns")");
  EXPECT_EQ(Found(".status.conditions[?(@.reason)].type"), R"("Ready")");
  EXPECT_EQ(Found(".spec.list[?(@>11)]"), "12 13");
  EXPECT_EQ(Found(".spec.list[?(@=='x')]"), "");
  EXPECT_EQ(Found(".status.conditions[?(@.type=='a]b')].type"), "");
}

TEST(JsonPath, Malformed) {
  for (const char* bad : {".a[", ".a[x]", ".a[0:1:0]", ".a[?(@.b==)]", ".a[?(b)]", ".a b", "a]",
                          ".a[1:2:3:4]", ".a[?(@[?(@[?(@[?(@[?(@[?(@[?(@[?(@[?(@[?(@.x)])])])])])])])])])]"})
    EXPECT_EQ(Found(bad).substr(0, 6), "error:") << bad;
}

TEST(JsonPath, ResultsAreBounded) {
  auto path = JsonPath::Parse("..*..*..*..*..*..*..*");
  ASSERT_TRUE(path);
  EXPECT_LE(path->Evaluate(Document()).size(), JsonPath::kMaxResults);
}

}  // namespace
}  // namespace flyball::api
