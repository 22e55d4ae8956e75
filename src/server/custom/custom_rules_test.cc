// x-kubernetes-validations over HTTP: definitions whose rules are wrong, objects that break rules,
// ratcheting.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class CustomRulesTest : public ServerFixture {
 protected:
  static constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  static constexpr const char* kAlphas = "/apis/rules.example.com/v1/namespaces/default/alphas";

  static std::string Definition(const std::string& spec_schema) {
    return R"({"metadata":{"name":"alphas.rules.example.com"},"spec":{"group":"rules.example.com","scope":"Namespaced",
      "names":{"plural":"alphas","kind":"Alpha"},"versions":[{"name":"v1","served":true,"storage":true,"schema":
      {"openAPIV3Schema":{"type":"object","properties":{"spec":)" +
           spec_schema + "}}}}]}}";
  }
  static std::string Alpha(const std::string& name, const std::string& spec) {
    return R"({"apiVersion":"rules.example.com/v1","kind":"Alpha","metadata":{"name":")" + name +
           R"("},"spec":)" + spec + "}";
  }
};

TEST_F(CustomRulesTest, ARuleThatDoesNotCompileIsRefusedWithTheDefinition) {
  const auto reply =
      Do("POST", kDefinitions, Definition(R"({"type":"object","properties":{"a":{"type":"string"}},
    "x-kubernetes-validations":[{"rule":"self.nope > 1"}]})"));
  EXPECT_EQ(reply->status, 422);
  EXPECT_EQ(
      reply->value()["message"].string_or(""),
      "CustomResourceDefinition.apiextensions.k8s.io \"alphas.rules.example.com\" is invalid: "
      "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: "
      "{\"Rule\":\"self.nope \\u003e "
      "1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\","
      "\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n"
      " | self.nope > 1\n | ....^");
}

TEST_F(CustomRulesTest, ObjectsAreCheckedWhenTheyAreCreatedAndChanged) {
  const std::string spec =
      R"json({"type":"object","properties":{"min":{"type":"integer"},"max":{"type":"integer"},
    "fixed":{"type":"string","maxLength":20}},"x-kubernetes-validations":[
    {"rule":"!has(self.min) || self.min <= self.max","messageExpression":"'min %d is over max'.format([self.min])",
     "fieldPath":".min"},
    {"rule":"!has(oldSelf.fixed) || self.fixed == oldSelf.fixed","reason":"FieldValueForbidden",
     "message":"fixed cannot change"}]})json";
  ASSERT_EQ(Do("POST", kDefinitions, Definition(spec))->status, 201);
  const auto bad = Do("POST", kAlphas, Alpha("a", R"({"min":3,"max":2})"));
  EXPECT_EQ(bad->status, 422);
  EXPECT_EQ(bad->value()["message"].string_or(""),
            "Alpha.rules.example.com \"a\" is invalid: spec.min: Invalid value: min 3 is over max");
  EXPECT_EQ(Do("POST", kAlphas, Alpha("a", R"({"min":1,"max":2,"fixed":"x"})"))->status, 201);
  const std::string target = std::string(kAlphas) + "/a";
  auto object = Do("GET", target)->value();
  object["spec"]["fixed"] = "y";
  const auto changed = Do("PUT", target, json::Write(object));
  EXPECT_EQ(changed->status, 422);
  EXPECT_EQ(changed->value()["message"].string_or(""),
            "Alpha.rules.example.com \"a\" is invalid: spec: Forbidden: fixed cannot change");
  object["spec"]["fixed"] = "x";
  object["spec"]["min"] = 2;
  EXPECT_EQ(Do("PUT", target, json::Write(object))->status, 200);
}

TEST_F(CustomRulesTest, WhatWasWrongBeforeTheRuleCameIsOnlyWarnedOf) {
  const std::string open = R"({"type":"object","properties":{"p":{"type":"string"},"q":{"type":"string"}}})";
  const std::string strict =
      R"({"type":"object","properties":{"p":{"type":"string","x-kubernetes-validations":[{"rule":"self != 'bad'","message":"p is bad"}]},
      "q":{"type":"string"}}})";
  ASSERT_EQ(Do("POST", kDefinitions, Definition(open))->status, 201);
  ASSERT_EQ(Do("POST", kAlphas, Alpha("old", R"({"p":"bad"})"))->status, 201);
  auto definition = Do("GET", std::string(kDefinitions) + "/alphas.rules.example.com")->value();
  definition["spec"]["versions"] = json::Parse(Definition(strict)).value()["spec"]["versions"];
  ASSERT_EQ(
      Do("PUT", std::string(kDefinitions) + "/alphas.rules.example.com", json::Write(definition))->status,
      200);
  auto object = Do("GET", std::string(kAlphas) + "/old")->value();
  object["spec"]["q"] = "new";
  const auto tolerated = Do("PUT", std::string(kAlphas) + "/old", json::Write(object));
  EXPECT_EQ(tolerated->status, 200);
  EXPECT_EQ(tolerated->headers.Get("warning"), "299 - \"spec.p: Invalid value: \\\"bad\\\": p is bad\"");
  EXPECT_EQ(Do("POST", kAlphas, Alpha("new", R"({"p":"bad"})"))->status, 422);
}

TEST_F(CustomRulesTest, AnUpdateIsWarnedOfNewFormatsOnly) {
  const auto made = Do("POST", kDefinitions, Definition(R"({"type":"string","format":"odd"})"));
  ASSERT_EQ(made->status, 201);
  EXPECT_EQ(made->headers.Get("warning"), "299 - \"unrecognized format \\\"odd\\\"\"");
  const auto format = [&](const std::string& value) {
    return Do(
        "PATCH", std::string(kDefinitions) + "/alphas.rules.example.com",
        R"([{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec","value":)" +
            value + "}]",
        "application/json-patch+json");
  };
  EXPECT_EQ(format(R"({"type":"string","format":"odd","description":"d"})")->headers.Get("warning"), "");
  EXPECT_EQ(format(R"({"type":"string","format":"odder"})")->headers.Get("warning"),
            "299 - \"unrecognized format \\\"odder\\\"\"");
}

}  // namespace
}  // namespace flyball::server
