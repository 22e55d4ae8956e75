#include "api/jq/jq_query.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::api {
namespace {

constexpr std::string_view kJqPod =
    R"({"metadata":{"name":"web","annotations":{"a.b/c":"5s"},"finalizers":["x","y"],
    "ownerReferences":[{"kind":"Job"}]},
  "spec":{"containers":[{"name":"b","n":2},{"name":"a","n":1}]},
  "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"False"}]}})";

// The results as JSON, one after the other; or what is wrong.
std::string JqFound(std::string_view query) {
  const auto parsed = JqQuery::Parse(query);
  if (!parsed) return "parse: " + parsed.error().message();
  const auto results = parsed->Run(*json::Parse(kJqPod));
  if (!results) return "error: " + results.error().message();
  std::string out;
  for (const json::Value& result : *results) out += (out.empty() ? "" : " ") + json::Write(result);
  return out;
}

TEST(JqQueryTest, FollowsPaths) {
  EXPECT_EQ(JqFound(".metadata.name"), "\"web\"");
  EXPECT_EQ(JqFound(".metadata.missing.deeper"), "null");
  EXPECT_EQ(JqFound(".metadata.annotations[\"a.b/c\"]"), "\"5s\"");
  EXPECT_EQ(JqFound(".metadata.\"annotations\".\"a.b/c\""), "\"5s\"");
  EXPECT_EQ(JqFound(".metadata.ownerReferences.[].kind"), "\"Job\"");
  EXPECT_EQ(JqFound(".spec.containers[-1].name, .spec.containers[0].n"), "\"a\" 2");
  EXPECT_EQ(JqFound(".metadata.finalizers[1:]"), R"(["y"])");
  EXPECT_EQ(JqFound(".status.missing[]"), "error: cannot iterate over: null");
  EXPECT_EQ(JqFound(".status.missing[]?"), "");
  EXPECT_EQ(JqFound(".metadata.name.x"), "error: expected an object but got: string");
  EXPECT_EQ(JqFound("[.. | numbers?]"), "parse: function not defined: numbers/0 at byte 6");
  EXPECT_EQ(JqFound("[.. | select(type == \"number\")]"), "[2,1]");
}

TEST(JqQueryTest, SelectsAndCompares) {
  EXPECT_EQ(JqFound(".status.conditions.[] | select( .type == \"Ready\" ) | .status"), "\"True\"");
  EXPECT_EQ(JqFound(".spec.containers | map(select(.n > 1 and (.name | startswith(\"b\")))) | length"), "1");
  EXPECT_EQ(JqFound("[.spec.containers[].n] | add, min, max, sort"), "3 1 2 [1,2]");
  EXPECT_EQ(JqFound(".status.phase == \"Running\" or error"), "true");
  EXPECT_EQ(JqFound("1 == 1.0, [1] < [1,0], null < false, \"a\" < []"), "true true true true");
  EXPECT_EQ(JqFound(".spec.containers | any(.n == 2), all(.n == 2)"), "true false");
}

TEST(JqQueryTest, ComputesAndBuilds) {
  EXPECT_EQ(JqFound("1 + 2 * 3 - -1, 7 / 2, 7 % 3"), "8 3.5 1");
  EXPECT_EQ(JqFound(".x // .metadata.name // \"none\""), "\"web\"");
  EXPECT_EQ(JqFound("{name: .metadata.name, (.status.phase): 1, metadata}| keys"),
            R"(["Running","metadata","name"])");
  EXPECT_EQ(JqFound("if .x then 1 elif .status then 2 else 3 end"), "2");
  EXPECT_EQ(JqFound("try error catch \"caught\""), "\"caught\"");
  EXPECT_EQ(JqFound(".metadata.name as $n | .spec.containers[] | $n + \"-\" + .name"), "\"web-b\" \"web-a\"");
  EXPECT_EQ(JqFound(".metadata.finalizers | join(\",\"), index(\"x\")"),
            "error: index cannot be applied to: array");
  EXPECT_EQ(JqFound("\"5\" | tonumber + 1"), "6");
  EXPECT_EQ(JqFound(".metadata.name | test(\"^W\"; \"i\"), test(\"^W\")"), "true false");
  EXPECT_EQ(JqFound(".metadata.annotations | to_entries[0].key, with_entries(.value |= 1)"),
            "parse: assignments are not supported at byte 63");
  EXPECT_EQ(JqFound("first(.spec.containers[] | .name)"), "\"b\"");
  EXPECT_EQ(JqFound(".metadata.finalizers | first, last"), "\"x\" \"y\"");
  EXPECT_EQ(JqFound("\"a,b\" | split(\",\"), split(\"\")"), R"(["a","b"] ["a",",","b"])");
}

TEST(JqQueryTest, SaysWhatIsMalformed) {
  EXPECT_EQ(JqFound(".a |"), "parse: unexpected token \"the end\" at byte 4");
  EXPECT_EQ(JqFound(".a)"), "parse: unexpected token \")\" at byte 2");
  EXPECT_EQ(JqFound("\"x"), "parse: unterminated string literal at byte 0");
  EXPECT_EQ(JqFound(std::string(1000, '(')), "parse: the query is nested too deeply");
  EXPECT_EQ(JqFound("1 == 2 == 3"), "parse: unexpected token \"==\" at byte 7");
  EXPECT_EQ(JqFound("$x"), "error: variable not defined: $x");
}

}  // namespace
}  // namespace flyball::api
