// Formats, numbers, embedded resources and warnings. The texts are kube-apiserver's.
#include <gtest/gtest.h>

#include "api/custom/crd_validation.h"
#include "api/custom/custom_object.h"
#include "api/custom/definition_warnings.h"
#include "api/formats/string_format.h"
#include "json/json.h"

namespace flyball::api {
namespace {

std::string TextOf(const FieldErrors& errors) {
  std::string text;
  for (const Cause& cause : errors.causes())
    text += (text.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return text;
}

std::shared_ptr<const CustomSchema> SchemaOfField(const std::string& field) {
  return *CustomSchema::Build(*json::Parse(R"({"type":"object","properties":{"a":)" + field + "}}"));
}

// What is wrong with {"a": value} where `field` is the schema of a.
std::string ProblemsOf(const std::string& field, const std::string& value) {
  const auto schema = SchemaOfField(field);
  FieldErrors errors;
  ValidateCustomObject(*schema, *json::Parse(R"({"a":)" + value + "}"), errors);
  return TextOf(errors);
}

TEST(CustomFormats, NumbersFitTheirFormat) {
  EXPECT_EQ(ProblemsOf(R"({"type":"integer","format":"int32"})", "2147483648"),
            R"(<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a)");
  EXPECT_EQ(ProblemsOf(R"({"type":"integer","format":"int32"})", "-2147483648"), "");
  EXPECT_EQ(ProblemsOf(R"({"type":"integer","format":"int64"})", "9223372036854775807"), "");
  EXPECT_EQ(ProblemsOf(R"({"type":"number","format":"float"})", "1e40"),
            R"(<nil>: Invalid value: "": Checked value must be of type number with format float in a)");
  EXPECT_EQ(ProblemsOf(R"({"type":"number","format":"double"})", "1e40"), "");
  EXPECT_EQ(ProblemsOf(R"({"type":"number","format":"int32"})", "2147483648"), "");
}

TEST(CustomFormats, FactorsOfWholeNumbersAreWhole) {
  EXPECT_EQ(ProblemsOf(R"({"type":"number","multipleOf":0.5})", "3"),
            "a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0");
  EXPECT_EQ(ProblemsOf(R"({"type":"number","multipleOf":0.5})", "1.5"), "");
  EXPECT_EQ(ProblemsOf(R"({"type":"number","multipleOf":0.5})", "1.25"),
            "a: Invalid value: 1.25: a in body should be a multiple of 0.5");
}

TEST(CustomFormats, AWrongTypeIsToldTheFormat) {
  EXPECT_EQ(ProblemsOf(R"({"type":"string","format":"byte"})", "5"),
            R"(a: Invalid value: "int64": a in body must be of type byte: "int64")");
  EXPECT_EQ(ProblemsOf(R"({"type":"string","format":"date"})", "true"),
            R"(a: Invalid value: "": a in body must be of type date: "")");
  EXPECT_EQ(ProblemsOf(R"({"type":"string","format":"uri"})", "[]"), "");
  EXPECT_EQ(ProblemsOf(R"({"type":"integer","format":"int32"})", R"("x")"),
            R"(a: Invalid value: "string": a in body must be of type integer: "string")");
}

TEST(CustomFormats, NumbersOfBooksCardsAndPeople) {
  EXPECT_TRUE(MatchesStringFormat("isbn", "978-0321751041"));
  EXPECT_TRUE(MatchesStringFormat("isbn10", "0321751043"));
  EXPECT_FALSE(MatchesStringFormat("isbn10", "0321751044"));
  EXPECT_FALSE(MatchesStringFormat("isbn13", "0321751043"));
  EXPECT_TRUE(MatchesStringFormat("creditcard", "4556-2293-4567-0168") ==
              MatchesStringFormat("creditcard", "4556229345670168"));
  EXPECT_TRUE(MatchesStringFormat("creditcard", "4111 1111 1111 1111"));
  EXPECT_FALSE(MatchesStringFormat("creditcard", "4111 1111 1111 1112"));
  EXPECT_TRUE(MatchesStringFormat("ssn", "111-11-1111"));
  EXPECT_FALSE(MatchesStringFormat("ssn", "111-1-1111"));
}

TEST(CustomFormats, UnknownOnesAndSetsOfObjectsAreWarnedOf) {
  const auto warnings = [](const std::string& schema) {
    std::vector<std::string> out;
    WarnOfDefinition(*json::Parse(R"({"spec":{"versions":[{"schema":{"openAPIV3Schema":)" + schema + "}}]}}"),
                     out);
    return out;
  };
  EXPECT_EQ(warnings(R"({"properties":{"a":{"type":"string","format":"int32"},"b":{"type":"integer","format":
                        "int32"},"c":{"type":"object","format":"date"},"d":{"type":"string","format":"int32"}}})"),
            (std::vector<std::string>{"unrecognized format \"int32\"", "unrecognized format \"date\""}));
  EXPECT_EQ(
      warnings(R"({"properties":{"a":{"type":"array","x-kubernetes-list-type":"set","items":
                        {"type":"object"}}}})"),
      (std::vector<std::string>{"x-kubernetes-list-type: set for items of type \"object\" is not supported "
                                "by server-side apply or CEL validation rules"}));
  EXPECT_TRUE(warnings(R"({"properties":{"a":{"type":"string","format":"k8s-short-name"}}})").empty());
}

TEST(CustomPruning, NothingIsKnownBelowAValueOfTheWrongType) {
  const auto pruned = [](const std::string& field, const std::string& value) {
    json::Value object = *json::Parse(R"({"a":)" + value + "}");
    std::vector<std::string> unknown;
    PruneCustomObject(*SchemaOfField(field), object, &unknown);
    for (const std::string& text : unknown)
      object["unknown"] = std::string(object["unknown"].string_or("")) + text + ";";
    return json::Write(object);
  };
  EXPECT_EQ(pruned(R"({"type":"string"})", R"({"b":1})"), R"({"a":{},"unknown":"unknown field \"a.b\";"})");
  EXPECT_EQ(pruned(R"({"type":"string"})", R"([{"b":1}])"),
            R"({"a":[{}],"unknown":"unknown field \"a[0].b\";"})");
  EXPECT_EQ(pruned(R"({"x-kubernetes-preserve-unknown-fields":true})", R"({"b":1})"), R"({"a":{"b":1}})");
}

TEST(CustomEmbedded, NamesAndMetadataAreDecoded) {
  const auto schema = SchemaOfField(
      R"({"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})");
  const auto decode = [&](const std::string& value, std::vector<std::string>* unknown) {
    json::Value object = *json::Parse(R"({"a":)" + value + "}");
    return DecodeEmbeddedResources(*schema, object, unknown);
  };
  std::vector<std::string> unknown;
  EXPECT_EQ(decode(R"({"apiVersion":[]})", &unknown), "a.apiVersion: Invalid value: []: must be a string");
  EXPECT_EQ(decode(R"({"metadata":{"name":100}})", &unknown),
            R"(a.metadata: Invalid value: {"name":100}: json: cannot unmarshal number into Go struct field )"
            "ObjectMeta.name of type string");
  EXPECT_EQ(decode(R"({"metadata":{"x":1}})", &unknown), "");
  EXPECT_EQ(unknown, std::vector<std::string>{"unknown field \"a.metadata.x\""});
}

std::string StructureProblems(const std::string& field) {
  FieldErrors errors;
  ValidateStructuralSchema(*json::Parse(R"({"type":"object","properties":{"a":)" + field + "}}"),
                           FieldPath("s"), errors);
  return TextOf(errors);
}

TEST(CustomDefinitions, DefaultsObeyTheRules) {
  EXPECT_EQ(
      StructureProblems(
          R"({"type":"integer","default":7,"x-kubernetes-validations":[{"rule":"self != 7","message":"no"}]})"),
      "s.properties[a].default: Invalid value: 7: no");
  EXPECT_EQ(StructureProblems(
                R"({"type":"integer","default":6,"x-kubernetes-validations":[{"rule":"self != 7"}]})"),
            "");
}

TEST(CustomDefinitions, WhatIsNoStructureIsSaidOnce) {
  EXPECT_EQ(StructureProblems(R"({"$schema":"x"})"),
            R"(s: Invalid value: "": OpenAPIV3Schema 'schema' is not supported)");
  EXPECT_EQ(StructureProblems(R"({"dependencies":{"a":["b"]}})"),
            "s.properties[a].dependencies: Forbidden: dependencies is not supported");
  EXPECT_EQ(StructureProblems(R"({"type":"string","oneOf":[{"additionalProperties":false}]})"), "");
  EXPECT_EQ(StructureProblems("{\"type\":\"string\",\"pattern\":\"(?<n>a)\"}"), "");
}

// What is wrong with a definition whose schema has `keywords` at its root.
std::string ProblemsOfRoot(const std::string& keywords, const std::string& subresources) {
  const auto definition = json::Parse(
      R"({"metadata":{"name":"as.x.example.com"},"spec":{"group":"x.example.com","scope":"Cluster","names":{
      "plural":"as","singular":"a","kind":"A","listKind":"AList"},"versions":[{"name":"v1","served":true,"storage":true,
      "subresources":)" +
      subresources + R"(,"schema":{"openAPIV3Schema":{"type":"object",)" + keywords +
      R"(}}}]},"status":{"storedVersions":["v1"]}})");
  FieldErrors errors;
  ValidateCustomResourceDefinition(*definition, errors);
  return TextOf(errors);
}

TEST(CustomDefinitions, TheRootIsLimitedWhereStatusIsASubresource) {
  const std::string few = R"("required":["spec"],"description":"d","properties":{"spec":{"type":"object"}})";
  EXPECT_EQ(ProblemsOfRoot(few, R"({"status":{}})"), "");
  const std::string more =
      R"("maxProperties":3,"anyOf":[{"required":["a"]}],"properties":{"a":{"type":"string"}})";
  EXPECT_EQ(ProblemsOfRoot(more, "{}"), "");
  const std::string told = ProblemsOfRoot(more, R"({"status":{}})");
  EXPECT_TRUE(
      told.starts_with(R"(spec.validation.openAPIV3Schema: Invalid value: {"ID":"","Schema":"","Ref":null,)"
                       R"("Description":"","Type":"object","Nullable":false,)"))
      << told;
  EXPECT_NE(
      told.find(
          R"("MaxProperties":3,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,)"
          R"("AnyOf":[{"ID":"",)"),
      std::string::npos)
      << told;
  EXPECT_TRUE(told.ends_with(
      R"("XMapType":null,"XValidations":null}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum )"
      R"(ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items )"
      R"(Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the )"
      R"(schema if the status subresource is enabled)"))
      << told;
}

TEST(CustomDefinitions, ABranchOfABranchSaysNoTypes) {
  const std::string told = ProblemsOfRoot(
      R"("properties":{"a":{"type":"object","properties":{"p":{"x-kubernetes-int-or-string":true,
      "anyOf":[{"type":"integer"},{"type":"string"}]}},
      "allOf":[{"properties":{"p":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}]}})",
      "{}");
  const std::string place = "spec.validation.openAPIV3Schema.properties[a].allOf[0].properties[p].anyOf";
  EXPECT_EQ(told, place + "[0].type: Forbidden: must be empty to be structural\n" + place +
                      "[1].type: Forbidden: must be empty to be structural");
}

}  // namespace
}  // namespace flyball::api
