#include <gtest/gtest.h>

#include "api/custom/crd_status.h"
#include "api/custom/crd_validation.h"
#include "api/custom/custom_kind.h"
#include "api/custom/custom_object.h"
#include "api/formats/string_format.h"
#include "api/rules/format.h"
#include "api/schema/decode.h"
#include "api/select/selector.h"
#include "api/testing/recordings.h"
#include "api/wire/discovery.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

Value CustomJson(std::string_view text) {
  auto v = json::Parse(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : Value();
}

std::shared_ptr<const CustomSchema> Schema(std::string_view text) {
  auto schema = CustomSchema::Build(CustomJson(text));
  EXPECT_TRUE(schema);
  return *schema;
}

// What validation says, one line an error.
std::string CustomProblems(const CustomSchema& schema, std::string_view object, const Value* old = nullptr) {
  FieldErrors errors;
  ValidateCustomObject(schema, CustomJson(object), errors, old);
  std::string out;
  for (const auto& cause : errors.causes())
    out += (out.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return out;
}

// Of a schema of one property "a".
std::string Check(std::string_view property, std::string_view value) {
  const auto schema = Schema(R"({"type":"object","properties":{"a":)" + std::string(property) + "}}");
  return CustomProblems(*schema, R"({"a":)" + std::string(value) + "}");
}

std::string Pruned(const CustomSchema& schema, std::string_view object,
                   std::vector<std::string>* unknown = nullptr) {
  auto value = CustomJson(object);
  PruneCustomObject(schema, value, unknown);
  return json::Write(value);
}

TEST(CustomSchema, MakesTheTablesOfBuiltinKinds) {
  const auto schema = Schema(R"({"type":"object","properties":{
    "spec":{"type":"object","properties":{
      "replicas":{"type":"integer","default":1,"description":"how many"},
      "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
               "items":{"type":"object","properties":{"name":{"type":"string"}}}},
      "labels":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
      "any":{"x-kubernetes-int-or-string":true},
      "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}})");
  const auto& root = schema->type();
  ASSERT_EQ(root.fields.size(), 4u);
  EXPECT_EQ(root.FindField("metadata")->type, &ObjectMetaType());
  const auto& spec = *root.FindField("spec")->type;
  EXPECT_EQ(spec.FindField("replicas")->default_json, "1");
  EXPECT_EQ(spec.FindField("replicas")->description, "how many");
  EXPECT_EQ(spec.FindField("ports")->type->list_type, ListType::kMap);
  EXPECT_EQ(spec.FindField("ports")->type->list_keys[0], "name");
  EXPECT_EQ(spec.FindField("labels")->type->kind, TypeKind::kMap);
  EXPECT_TRUE(spec.FindField("labels")->type->atomic);
  EXPECT_EQ(spec.FindField("any")->type->kind, TypeKind::kIntOrString);
  EXPECT_TRUE(spec.FindField("free")->type->preserve_unknown);
  EXPECT_FALSE(schema->uses_cel());
}

TEST(CustomSchema, NoticesRules) {
  EXPECT_TRUE(Schema(R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"object",
    "x-kubernetes-validations":[{"rule":"true"}]}}}})")
                  ->uses_cel());
}

TEST(CustomSchema, RefusesEndlessNesting) {
  Value node = CustomJson(R"({"type":"string"})");
  for (int i = 0; i < CustomSchema::kMaxDepth + 5; ++i) {
    Value outer = CustomJson(R"({"type":"object","properties":{}})");
    outer["properties"]["a"] = std::move(node);
    node = std::move(outer);
  }
  EXPECT_FALSE(CustomSchema::Build(node));
  FieldErrors errors;
  ValidateStructuralSchema(node, FieldPath("x"), errors);
  EXPECT_FALSE(errors.empty());
}

TEST(CustomObject, Prune) {
  const auto schema = Schema(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
    "list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}},
    "map":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}},
    "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
            "properties":{"strict":{"type":"object","properties":{"a":{"type":"string"}}}}},
    "none":{"type":"object"}}}}})");
  std::vector<std::string> unknown;
  EXPECT_EQ(Pruned(*schema,
                   R"({"apiVersion":"v","metadata":{"name":"n"},"x":1,"spec":{"list":[{"a":"1","b":2}],
                       "map":{"k":{"a":"1","c":3}},"free":{"y":{"z":1},"strict":{"a":"1","d":4}},"none":{"e":5}}})",
                   &unknown),
            R"({"apiVersion":"v","metadata":{"name":"n"},"spec":{"list":[{"a":"1"}],"map":{"k":{"a":"1"}},)"
            R"("free":{"y":{"z":1},"strict":{"a":"1"}},"none":{}}})");
  const std::vector<std::string> want = {
      R"(unknown field "x")", R"(unknown field "spec.list[0].b")", R"(unknown field "spec.map.k.c")",
      R"(unknown field "spec.free.strict.d")", R"(unknown field "spec.none.e")"};
  EXPECT_EQ(unknown, want);
}

TEST(CustomObject, Defaults) {
  const auto schema =
      Schema(R"({"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{
    "a":{"type":"integer","default":3},"b":{"type":"string","nullable":true,"default":"x"},
    "c":{"type":"string"},"d":{"type":"array","items":{"type":"object","properties":{
      "e":{"type":"boolean","default":true}}}}}}}})");
  const auto defaulted = [&](std::string_view text) {
    auto value = CustomJson(text);
    DefaultCustomObject(*schema, value);
    return json::Write(value);
  };
  EXPECT_EQ(defaulted("{}"), R"({"spec":{"a":3,"b":"x"}})");
  EXPECT_EQ(defaulted(R"({"spec":{"a":0,"b":null,"c":null,"d":[{},{"e":false}]}})"),
            R"({"spec":{"a":0,"b":null,"d":[{"e":true},{"e":false}]}})");
  EXPECT_EQ(defaulted(R"({"spec":{"a":null}})"), R"({"spec":{"a":3,"b":"x"}})");
}

TEST(CustomObject, Types) {
  EXPECT_EQ(Check(R"({"type":"string"})", "5"),
            "a: Invalid value: \"integer\": a in body must be of type string: \"integer\"");
  EXPECT_EQ(Check(R"({"type":"integer"})", "1.5"),
            "a: Invalid value: \"number\": a in body must be of type integer: \"number\"\n"
            "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in a");
  EXPECT_EQ(Check(R"({"type":"integer"})", "2.0"), "");
  EXPECT_EQ(Check(R"({"type":"number"})", "2"), "");
  EXPECT_EQ(Check(R"({"type":"string"})", "null"),
            "a: Invalid value: \"null\": a in body must be of type string: \"null\"");
  EXPECT_EQ(Check(R"({"type":"string","nullable":true})", "null"), "");
  EXPECT_EQ(Check(R"({"x-kubernetes-int-or-string":true})", "true"),
            "a: Invalid value: \"boolean\": a in body must be of type integer,string: \"boolean\"");
}

TEST(CustomObject, Strings) {
  EXPECT_EQ(Check(R"({"type":"string","minLength":2})", R"("x")"),
            "a: Invalid value: \"x\": a in body should be at least 2 chars long");
  EXPECT_EQ(Check(R"({"type":"string","maxLength":2})", R"("äöü")"),
            "a: Too long: may not be more than 2 bytes");
  EXPECT_EQ(Check(R"({"type":"string","maxLength":3})", R"("äöü")"), "");
  EXPECT_EQ(Check(R"({"type":"string","pattern":"^x$"})", R"("y")"),
            "a: Invalid value: \"y\": a in body should match '^x$'");
  EXPECT_EQ(Check(R"({"type":"string","format":"date-time"})", R"("y")"),
            "a: Invalid value: \"y\": a in body must be of type date-time: \"y\"");
  EXPECT_EQ(Check(R"({"type":"string","format":"nobody-knows"})", R"("y")"), "");
  EXPECT_EQ(Check(R"({"type":"string","enum":["b","c"]})", R"("y")"),
            "a: Unsupported value: \"y\": supported values: \"b\", \"c\"");
}

TEST(CustomObject, Numbers) {
  EXPECT_EQ(Check(R"({"type":"integer","minimum":1})", "0"),
            "a: Invalid value: 0: a in body should be greater than or equal to 1");
  EXPECT_EQ(Check(R"({"type":"number","minimum":1.5,"exclusiveMinimum":true})", "1.5"),
            "a: Invalid value: 1.5: a in body should be greater than 1.5");
  EXPECT_EQ(Check(R"({"type":"integer","maximum":1,"exclusiveMaximum":true})", "1"),
            "a: Invalid value: 1: a in body should be less than 1");
  EXPECT_EQ(Check(R"({"type":"integer","multipleOf":3})", "4"),
            "a: Invalid value: 4: a in body should be a multiple of 3");
}

TEST(CustomObject, Lists) {
  EXPECT_EQ(Check(R"({"type":"array","minItems":1,"items":{"type":"string"}})", "[]"),
            "a: Invalid value: 0: a in body should have at least 1 items");
  EXPECT_EQ(Check(R"({"type":"array","maxItems":1,"items":{"type":"string"}})", R"(["x","y"])"),
            "a: Too many: 2: must have at most 1 item");
  EXPECT_EQ(
      Check(
          R"({"type":"array","items":{"type":"object","required":["n"],"properties":{"n":{"type":"string"}}}})",
          R"([{"n":"x"},{}])"),
      "a[1].n: Required value");
  EXPECT_EQ(
      Check(R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})", R"(["x","x"])"),
      "a[1]: Duplicate value: \"x\"");
  EXPECT_EQ(Check(R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],
                      "items":{"type":"object","properties":{"n":{"type":"string"},"v":{"type":"string"}}}})",
                  R"([{"n":"x","v":"1"},{"n":"x","v":"2"}])"),
            R"(a[1]: Duplicate value: {"n":"x"})");
}

TEST(CustomObject, Objects) {
  EXPECT_EQ(Check(R"({"type":"object","maxProperties":1,"additionalProperties":{"type":"string"}})",
                  R"({"x":"1","y":2})"),
            "a: Too many: 2: must have at most 1 item\n"
            "a.y: Invalid value: \"integer\": a.y in body must be of type string: \"integer\"");
  EXPECT_EQ(Check(R"({"type":"object","minProperties":1,"additionalProperties":{"type":"string"}})", "{}"),
            "a: Invalid value: 0: a in body should have at least 1 properties");
}

TEST(CustomObject, Branches) {
  EXPECT_EQ(Check(R"({"type":"string","not":{"enum":["x"]}})", R"("x")"),
            "<nil>: Invalid value: \"\": \"a\" must not validate the schema (not)");
  EXPECT_EQ(Check(R"({"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},
                      "oneOf":[{"required":["x"]},{"required":["y"]}]})",
                  R"({"x":"","y":""})"),
            "<nil>: Invalid value: \"\": \"a\" must validate one and only one schema (oneOf). Found 2 valid "
            "alternatives");
  EXPECT_EQ(
      Check(R"({"type":"object","oneOf":[{"required":["x"]},{"required":["y"]}]})", "{}"),
      "<nil>: Invalid value: \"\": \"a\" must validate one and only one schema (oneOf). Found none valid\n"
      "a.x: Required value");
  EXPECT_EQ(Check(R"({"type":"integer","anyOf":[{"maximum":1},{"minimum":5}]})", "3"),
            "<nil>: Invalid value: \"\": \"a\" must validate at least one schema (anyOf)\n"
            "a: Invalid value: 3: a in body should be less than or equal to 1");
  EXPECT_EQ(Check(R"({"type":"integer","anyOf":[{"maximum":1},{"minimum":5}]})", "7"), "");
}

TEST(CustomObject, EmbeddedResources) {
  EXPECT_EQ(Check(R"({"type":"object","x-kubernetes-embedded-resource":true,
                      "x-kubernetes-preserve-unknown-fields":true})",
                  R"({"apiVersion":"v1","metadata":{}})"),
            "a.kind: Required value");
  EXPECT_EQ(Check(R"({"type":"object","x-kubernetes-embedded-resource":true,
                      "x-kubernetes-preserve-unknown-fields":true})",
                  R"({"apiVersion":"a/b/c","kind":""})"),
            "a.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c\n"
            "a.kind: Invalid value: \"\": must not be empty");
}

TEST(CustomObject, WhatDidNotChangeIsTolerated) {
  const auto schema = Schema(R"({"type":"object","properties":{"a":{"type":"integer","maximum":3},
                                                              "b":{"type":"integer","maximum":3}}})");
  const auto old = CustomJson(R"({"a":5,"b":1})");
  EXPECT_EQ(CustomProblems(*schema, R"({"a":5,"b":2})", &old), "");
  EXPECT_EQ(CustomProblems(*schema, R"({"a":6,"b":2})", &old),
            "a: Invalid value: 6: a in body should be less than or equal to 3");
}

TEST(StringFormat, Known) {
  const std::pair<const char*, const char*> good[] = {{"date-time", "2024-01-01T00:00:00Z"},
                                                      {"date", "2024-01-31"},
                                                      {"ipv4", "1.2.3.4"},
                                                      {"ipv6", "::1"},
                                                      {"cidr", "10.0.0.0/8"},
                                                      {"mac", "00:11:22:33:44:55"},
                                                      {"uuid", "123e4567-e89b-12d3-a456-426614174000"},
                                                      {"email", "a@b.example"},
                                                      {"hostname", "a-b.example"},
                                                      {"uri", "https://x/y"},
                                                      {"byte", "aGk="},
                                                      {"duration", "1h30m"},
                                                      {"duration", "3 days"},
                                                      {"hexcolor", "#fff"},
                                                      {"rgbcolor", "rgb(1,2,3)"}};
  for (const auto& [format, value] : good)
    EXPECT_TRUE(MatchesStringFormat(format, value)) << format << ' ' << value;
  const std::pair<const char*, const char*> bad[] = {{"date-time", "2024-01-01"},
                                                     {"date", "2024-13-01"},
                                                     {"ipv4", "::1"},
                                                     {"ipv6", "1.2.3.4"},
                                                     {"cidr", "10.0.0.0"},
                                                     {"mac", "00:11"},
                                                     {"uuid", "x"},
                                                     {"email", "a"},
                                                     {"hostname", "-a"},
                                                     {"uri", "no scheme"},
                                                     {"byte", "*"},
                                                     {"duration", "soon"},
                                                     {"hexcolor", "#ff"},
                                                     {"rgbcolor", "rgb(300,2,3)"}};
  for (const auto& [format, value] : bad)
    EXPECT_FALSE(MatchesStringFormat(format, value)) << format << ' ' << value;
}

const char kNetworkDefinition[] = R"({"metadata":{"name":"networks.sample.k8s.io",
    "annotations":{"api-approved.kubernetes.io":"unapproved"}},
  "spec":{"group":"sample.k8s.io","scope":"Namespaced",
    "names":{"kind":"Network","plural":"networks","shortNames":["nw"]},
    "versions":[
      {"name":"v1","served":true,"storage":true,"subresources":{"status":{},
         "scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size","labelSelectorPath":".status.sel"}},
       "additionalPrinterColumns":[{"name":"CIDR","type":"string","jsonPath":".spec.cidr","priority":1}],
       "selectableFields":[{"jsonPath":".spec.mode"}],
       "schema":{"openAPIV3Schema":{"type":"object","properties":{
         "spec":{"type":"object","properties":{"mode":{"type":"string"},"size":{"type":"integer"}}}}}}},
      {"name":"v1beta1","served":true,"storage":false,"deprecated":true,
       "schema":{"openAPIV3Schema":{"type":"object"}}},
      {"name":"v1alpha1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})";

Value Definition() {
  auto definition = CustomJson(kNetworkDefinition);
  DefaultCustomResourceDefinition(definition);
  return definition;
}

TEST(CustomKind, KnowsWhatADefinitionSays) {
  const auto built = CustomKind::Build(Definition(), "v1"),
             older = CustomKind::Build(Definition(), "v1beta1");
  ASSERT_TRUE(built && older);
  const auto& kind = **built;
  EXPECT_EQ(kind.info().ApiVersion(), "sample.k8s.io/v1");
  EXPECT_EQ(kind.info().GroupResource(), "networks.sample.k8s.io");
  EXPECT_EQ(kind.info().singular, "network");
  EXPECT_EQ(kind.list_kind(), "NetworkList");
  EXPECT_TRUE(kind.info().namespaced && kind.info().custom && kind.has_status() && kind.storage());
  EXPECT_EQ(kind.info().short_names[0], "nw");
  EXPECT_EQ(kind.info().columns[0].path, ".spec.cidr");
  EXPECT_TRUE(kind.info().HasSubresource("scale"));
  EXPECT_EQ(kind.deprecation_warning(), "");
  EXPECT_EQ((*older)->deprecation_warning(),
            "sample.k8s.io/v1beta1 Network is deprecated; use sample.k8s.io/v1 Network");

  const auto selector = FieldSelector::Parse("spec.mode=fast", kind.info());
  ASSERT_TRUE(selector);
  EXPECT_TRUE(selector->Matches(kind.info(), CustomJson(R"({"spec":{"mode":"fast"}})")));
  EXPECT_FALSE(CustomKind::Build(Definition(), "v9"));
}

TEST(CrdStatus, NamesAreAcceptedAndEstablished) {
  auto definition = Definition();
  definition["status"] = InitialDefinitionStatus(definition);
  EXPECT_EQ(json::Write(definition["status"]),
            R"({"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]})");
  EXPECT_TRUE(UpdateDefinitionStatus(definition, {}, "2024-01-01T00:00:00Z"));
  EXPECT_TRUE(IsEstablished(definition));
  const auto& status = definition["status"];
  EXPECT_EQ(
      status["acceptedNames"],
      CustomJson(
          R"({"plural":"networks","singular":"network","shortNames":["nw"],"kind":"Network","listKind":"NetworkList"})"));
  EXPECT_EQ(status["conditions"].as_array()[0]["type"], Value("NamesAccepted"));
  EXPECT_EQ(status["conditions"].as_array()[1]["type"], Value("Established"));
  EXPECT_EQ(status["conditions"].as_array()[2]["message"], Value("not approved: \"unapproved\""));
  EXPECT_FALSE(UpdateDefinitionStatus(definition, {}, "2025-01-01T00:00:00Z"));
}

TEST(CrdStatus, NamesOfOthersAreRefused) {
  auto definition = Definition();
  static constexpr std::string_view kShort[] = {"nw"};
  const KindInfo other = {
      .group = "sample.k8s.io", .kind = "Newt", .plural = "newts", .singular = "newt", .short_names = kShort};
  const KindInfo* const others[] = {&other};
  UpdateDefinitionStatus(definition, others, "2024-01-01T00:00:00Z");
  EXPECT_FALSE(IsEstablished(definition));
  EXPECT_EQ(definition["status"]["conditions"].as_array()[0]["reason"], Value("ShortNamesConflict"));
  EXPECT_EQ(definition["status"]["conditions"].as_array()[1]["reason"], Value("NotAccepted"));
}

std::string DefinitionProblems(const Value& definition) {
  FieldErrors errors;
  ValidateCustomResourceDefinition(definition, errors);
  std::string out;
  for (const auto& cause : errors.causes())
    out += (out.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return out;
}

std::string RootProblems(const std::string& schema) {
  FieldErrors errors;
  ValidateStructuralSchema(CustomJson(schema), FieldPath("s"), errors);
  std::string out;
  for (const auto& cause : errors.causes())
    out += (out.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return out;
}

std::string SchemaProblems(std::string_view property) {
  return RootProblems(R"({"type":"object","properties":{"a":)" + std::string(property) + "}}");
}

TEST(CrdValidation, AGoodOneIsGood) {
  EXPECT_EQ(DefinitionProblems(Definition()), "");
}

TEST(CrdValidation, ProtectedGroupsNeedApproval) {
  auto definition = Definition();
  definition["metadata"].as_object().Erase("annotations");
  EXPECT_EQ(
      DefinitionProblems(definition),
      "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
      "annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111");
}

TEST(CrdValidation, Update) {
  auto old = Definition();
  UpdateDefinitionStatus(old, {}, "2024-01-01T00:00:00Z");
  auto now = old;
  now["spec"]["scope"] = "Cluster";
  FieldErrors errors;
  ValidateCustomResourceDefinitionUpdate(now, old, errors);
  ASSERT_EQ(errors.causes().size(), 1u);
  EXPECT_EQ(errors.causes()[0].message, "Invalid value: \"Cluster\": field is immutable");
}

TEST(StructuralSchema, Rules) {
  EXPECT_EQ(SchemaProblems(R"({"type":"string"})"), "");
  EXPECT_EQ(SchemaProblems("{}"),
            "s.properties[a].type: Required value: must not be empty for specified object fields");
  EXPECT_EQ(SchemaProblems(R"({"type":"array","items":{}})"),
            "s.properties[a].items.type: Required value: must not be empty for specified array items");
  EXPECT_EQ(SchemaProblems(R"({"type":"array"})"),
            "s.properties[a].items: Required value: must be specified");
  EXPECT_EQ(SchemaProblems(R"({"type":"thing"})"),
            "s.properties[a].type: Unsupported value: \"thing\": supported values: \"array\", \"boolean\", "
            "\"integer\", "
            "\"number\", \"object\", \"string\"");
  EXPECT_EQ(SchemaProblems(R"({"type":"object","anyOf":[{"type":"object"}]})"),
            "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural");
  EXPECT_EQ(SchemaProblems(R"({"type":"string","oneOf":[{"default":"x"}]})"),
            "s.properties[a].oneOf[0].default: Forbidden: must be undefined to be structural");
  EXPECT_EQ(
      SchemaProblems(R"({"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]})"),
      "");
  EXPECT_EQ(SchemaProblems(R"({"x-kubernetes-int-or-string":true,
                "allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"pattern":"x"}]})"),
            "");
  EXPECT_EQ(SchemaProblems(R"({"x-kubernetes-embedded-resource":true})"),
            "s.properties[a].properties: Required value: must not be empty if "
            "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields\n"
            "s.properties[a].type: Required value: must be object if x-kubernetes-embedded-resource is true");
}

TEST(StructuralSchema, TheRoot) {
  EXPECT_EQ(RootProblems(R"({"type":"object","nullable":true})"),
            "s.nullable: Forbidden: nullable cannot be true at the root");
  EXPECT_EQ(RootProblems(R"({"type":"object","additionalProperties":{"type":"string"}})"),
            "s.additionalProperties: Forbidden: must not be used at the root");
  EXPECT_EQ(RootProblems(R"({"type":"object","anyOf":[{"properties":{"b":{"pattern":"x"}}}]})"),
            "s.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]");
  EXPECT_EQ(RootProblems(R"({"type":"object","properties":{"metadata":{"type":"object","default":{}}}})"),
            "s.properties[metadata].default: Forbidden: must not be set in top-level metadata");
  EXPECT_EQ(
      RootProblems(
          R"({"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}})"),
      "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
      "metadata is implicitly specified");
}

TEST(StructuralSchema, Lists) {
  constexpr const char* kWhere = "s.properties[a]";
  const auto list = [](std::string_view type, std::string_view items) {
    return SchemaProblems(R"({"type":"array","x-kubernetes-list-type":")" + std::string(type) +
                          R"(","items":)" + std::string(items) + "}");
  };
  EXPECT_EQ(list("map", R"({"type":"object"})"),
            kWhere + std::string(".x-kubernetes-list-map-keys: Required value: must not be empty if "
                                 "x-kubernetes-list-type is map"));
  EXPECT_EQ(list("bag", R"({"type":"string"})"),
            kWhere + std::string(".x-kubernetes-list-type: Unsupported value: \"bag\": supported values: "
                                 "\"atomic\", \"set\", \"map\""));
  EXPECT_EQ(list("set", R"({"type":"object"})"),
            kWhere + std::string(".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item "
                                 "of a list with x-kubernetes-list-type=set"));
  EXPECT_EQ(list("set", R"({"type":"string","nullable":true})"),
            kWhere + std::string(".items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type "
                                 "is set"));
  const auto map = [](std::string_view keys, std::string_view items) {
    return SchemaProblems(R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":)" +
                          std::string(keys) + R"(,"items":)" + std::string(items) + "}");
  };
  EXPECT_EQ(map(R"(["k"])", R"({"type":"object"})"),
            kWhere + std::string(".x-kubernetes-list-map-keys: Invalid value: [\"k\"]: entries must all be "
                                 "names of item properties"));
  EXPECT_EQ(
      map(R"(["k","k"])", R"({"type":"object","required":["k"],"properties":{"k":{"type":"string"}}})"),
      kWhere + std::string(".x-kubernetes-list-map-keys: Invalid value: [\"k\",\"k\"]: must not contain "
                           "duplicate entries"));
}

TEST(StructuralSchema, Maps) {
  EXPECT_EQ(
      SchemaProblems(
          R"({"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":{"type":"string"}})"),
      "s.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual "
      "exclusive");
  EXPECT_EQ(SchemaProblems(R"({"type":"object","additionalProperties":false})"), "");
  EXPECT_EQ(SchemaProblems(R"({"type":"array","items":{"type":"string"},"x-kubernetes-map-type":"atomic"})"),
            "s.properties[a].type: Invalid value: \"array\": must be object if x-kubernetes-map-type is "
            "specified");
}

TEST(StructuralSchema, DefaultsAreStoredAsTheyAre) {
  EXPECT_EQ(SchemaProblems(R"({"type":"object","properties":{"x":{"type":"string"}},"default":{"y":1}})"),
            "s.properties[a].default: Invalid value: {\"y\":1}: must not have unknown fields");
}

TEST(CrdValidation, Conversion) {
  auto definition = Definition();
  definition["spec"]["conversion"] = CustomJson(
      R"({"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://x"},"conversionReviewVersions":["v9","v9"]}})");
  EXPECT_EQ(DefinitionProblems(definition),
            "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v9\": duplicate version\n"
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\",\"v9\"]: must include at least "
            "one of v1, v1beta1");
  definition["spec"]["conversion"]["strategy"] = "None";
  EXPECT_EQ(
      DefinitionProblems(definition),
      "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to "
      "Webhook\nspec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is "
      "not set to Webhook");
}

// Replays the recorded answers to definitions and objects.
TEST(Recorded, InvalidDefinitions) {
  const json::Value recording = ReadRecording("cases/8-crd");
  int compared = 0;
  for (const auto& scenario : recording.as_array()) {
    for (const auto& step : scenario["steps"].as_array()) {
      const auto& body = step["body"];
      const auto& answer = step["expect"]["body"];
      if (body["kind"].string_or("") != "CustomResourceDefinition" || step["method"].string_or("") != "POST")
        continue;
      auto definition = body;
      DefaultCustomResourceDefinition(definition);
      FieldErrors errors;
      const auto name = definition["metadata"]["name"].string_or("");
      AddProblems(DnsSubdomainProblems(name), FieldPath("metadata.name"), name, errors);
      ValidateCustomResourceDefinition(definition, errors);
      const auto want = answer["message"].string_or("");
      EXPECT_EQ(errors.empty()
                    ? ""
                    : errors.ToError("apiextensions.k8s.io", "CustomResourceDefinition", name).message(),
                want);
      ++compared;
    }
  }
  EXPECT_GT(compared, 8);
}

TEST(Recorded, ObjectsOfANetwork) {
  const json::Value recording = ReadRecording("cases/8-crd");
  std::shared_ptr<const CustomKind> kind;
  int compared = 0;
  for (const auto& step : recording.as_array()[0]["steps"].as_array()) {
    auto object = step["body"];
    if (!object.is_object()) continue;
    if (object["kind"].string_or("") == "CustomResourceDefinition") kind = *CustomKind::Build(object, "v1");
    if (object["kind"].string_or("") != "Network" || step["method"].string_or("") != "POST") continue;
    const auto& answer = step["expect"]["body"];
    std::string want(answer["message"].string_or(""));
    if (want.find("strict decoding") != std::string::npos) continue;
    DecodeContext context;
    ASSERT_TRUE(Decode(kind->schema().type(), object, context));
    PruneCustomObject(kind->schema(), object);
    DefaultCustomObject(kind->schema(), object);
    FieldErrors errors;
    ValidateCustomObject(kind->schema(), object, errors);
    if (answer["kind"].string_or("") == "Network") {
      EXPECT_TRUE(errors.empty());
      EXPECT_EQ(object["spec"], answer["spec"]);
    } else {
      const std::string got =
          errors.empty()
              ? ""
              : errors.ToError("golden.example.com", "Network", object["metadata"]["name"].string_or(""))
                    .message();
      EXPECT_EQ(got, want);
    }
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace flyball::api
