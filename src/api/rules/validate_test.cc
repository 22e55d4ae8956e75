#include "api/rules/validate.h"

#include <gtest/gtest.h>

#include "api/rules/object_meta.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using K = Rule::Kind;

const TypeInfo kStringType{.kind = TypeKind::kString};
const TypeInfo kIntType{.kind = TypeKind::kInt32};
const TypeInfo kListType{.kind = TypeKind::kList, .element = &kStringType};

constexpr std::string_view kModes[] = {"A", "B"};
constexpr std::string_view kUnion[] = {"left", "right"};
constexpr Rule kModeRules[] = {{.kind = K::kRequired}, {.kind = K::kEnum, .values = kModes}};
constexpr Rule kCountRules[] = {{.kind = K::kMin, .a = 0}, {.kind = K::kMax, .a = 9}};
constexpr Rule kNameRules[] = {{.kind = K::kFormat, .text = "dns-label"}, {.kind = K::kImmutable}};
constexpr Rule kItemRules[] = {{.kind = K::kMaxItems, .a = 2}};
constexpr Rule kTextRules[] = {{.kind = K::kPattern, .text = "^x+$"}, {.kind = K::kMaxLength, .a = 3}};
constexpr Rule kTypeRules[] = {{.kind = K::kOneOf, .values = kUnion}};
const FieldInfo kFields[] = {
    {.name = "mode", .type = &kStringType, .rules = kModeRules},
    {.name = "count", .type = &kIntType, .rules = kCountRules},
    {.name = "name", .type = &kStringType, .rules = kNameRules},
    {.name = "items", .type = &kListType, .rules = kItemRules},
    {.name = "text", .type = &kStringType, .rules = kTextRules},
    {.name = "left", .type = &kStringType},
    {.name = "right", .type = &kStringType},
};
const TypeInfo kType{.kind = TypeKind::kObject, .fields = kFields, .rules = kTypeRules};

std::vector<std::string> Problems(std::string_view text) {
  FieldErrors errors;
  Validate(kType, *json::Parse(text), FieldPath("spec"), errors);
  std::vector<std::string> out;
  for (const Cause& cause : errors.causes()) out.push_back(cause.field + ": " + cause.message);
  return out;
}

TEST(ValidateTest, GoodObjectsPass) {
  EXPECT_TRUE(Problems(R"({"mode":"A","count":3,"name":"n","items":["a"],"text":"xx","left":"l"})").empty());
}

TEST(ValidateTest, EveryRuleHasItsWords) {
  EXPECT_EQ(
      Problems(R"({"count":-1,"name":"N.","items":["a","b","c"],"text":"yyyy"})"),
      (std::vector<std::string>{
          "spec: Required value: must specify one of the allowed fields",
          "spec.mode: Required value",
          "spec.count: Invalid value: -1: must be greater than or equal to 0",
          "spec.name: Invalid value: \"N.\": a lowercase RFC 1123 label must consist of lower case "
          "alphanumeric "
          "characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
          "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
          "spec.items: Too many: 3: must have at most 2 items",
          "spec.text: Invalid value: \"yyyy\": must match the regex ^x+$",
          "spec.text: Too long: may not be more than 3 bytes",
      }));
  EXPECT_EQ(
      Problems(R"({"mode":"C","left":"1","right":"2"})"),
      (std::vector<std::string>{"spec: Forbidden: may not specify more than 1 of: left, right",
                                "spec.mode: Unsupported value: \"C\": supported values: \"A\", \"B\""}));
}

TEST(ValidateTest, ImmutableFieldsMayBeSetOnce) {
  FieldErrors errors;
  ValidateImmutable(kType, *json::Parse(R"({"name":"b"})"), *json::Parse("{}"), FieldPath(), errors);
  EXPECT_TRUE(errors.empty());
  ValidateImmutable(kType, *json::Parse(R"({"name":"b"})"), *json::Parse(R"({"name":"a"})"), FieldPath(),
                    errors);
  ASSERT_EQ(errors.causes().size(), 1u);
  EXPECT_EQ(errors.causes()[0].message, "Invalid value: \"b\": field is immutable");
}

std::string MetaError(std::string_view metadata, const KindHooks& hooks = {}) {
  FieldErrors errors;
  ValidateObjectMetaForCreate(*FindBuiltinKind("", "v1", "ConfigMap"), hooks, *json::Parse(metadata), errors);
  return errors.empty() ? "" : errors.causes()[0].field + ": " + errors.causes()[0].message;
}

TEST(ObjectMetaTest, CreateRules) {
  EXPECT_EQ(MetaError(R"({"name":"a","namespace":"b","labels":{"x.y/z":"1"}})"), "");
  EXPECT_EQ(MetaError(R"({"namespace":"b"})"),
            "metadata.name: Required value: name or generateName is required");
  EXPECT_EQ(MetaError(R"({"name":"a"})"), "metadata.namespace: Required value");
  EXPECT_EQ(MetaError(R"({"name":"a","namespace":"b","generation":-1})"),
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(MetaError(R"({"name":"a","namespace":"b","annotations":{"/x":""}})"),
            "metadata.annotations: Invalid value: \"/x\": prefix part must be non-empty");
  EXPECT_EQ(MetaError(R"({"name":"a","namespace":"b","finalizers":["nodomain"]})"),
            "metadata.finalizers[0]: Invalid value: \"nodomain\": name is neither a standard finalizer name "
            "nor is it "
            "fully qualified");
  EXPECT_EQ(
      MetaError(
          R"({"name":"a","namespace":"b","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"n"}]})"),
      "metadata.ownerReferences[0].uid: Required value: must not be empty");
  EXPECT_EQ(
      MetaError(
          R"({"name":"a","namespace":"b","ownerReferences":[{"apiVersion":"a/b/c","kind":"X","name":"n","uid":"u"}]})"),
      "metadata.ownerReferences[0].apiVersion: Invalid value: \"a/b/c\": must be <group>/<version> or "
      "<version>");
  const std::string big(262145, 'x');
  EXPECT_EQ(MetaError(R"({"name":"a","namespace":"b","annotations":{"x":")" + big + "\"}}"),
            "metadata.annotations: Too long: may not be more than 262144 bytes");
}

TEST(ObjectMetaTest, UpdateSaysEverythingTwice) {
  FieldErrors errors;
  ValidateObjectMetaForUpdate(*FindBuiltinKind("", "v1", "ConfigMap"), {},
                              *json::Parse(R"({"name":"a","uid":"2","resourceVersion":"1"})"),
                              *json::Parse(R"({"name":"a","uid":"1","resourceVersion":"1"})"), errors);
  ASSERT_EQ(errors.causes().size(), 2u);
  EXPECT_EQ(errors.causes()[0].message, "Invalid value: \"2\": field is immutable");
  EXPECT_EQ(errors.causes()[0], errors.causes()[1]);
}

TEST(ObjectMetaTest, FinalizersOfAnUpdateAreNamesToo) {
  FieldErrors errors;
  ValidateObjectMetaForUpdate(*FindBuiltinKind("", "v1", "ConfigMap"), {},
                              *json::Parse(R"({"name":"a","finalizers":["a/b/c"],"resourceVersion":"1"})"),
                              *json::Parse(R"({"name":"a","resourceVersion":"1"})"), errors);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors.causes()[0].field, "metadata.finalizers");
}

TEST(ObjectMetaTest, NoNewFinalizersWhileDeleting) {
  FieldErrors errors;
  ValidateObjectMetaForUpdate(
      *FindBuiltinKind("", "v1", "ConfigMap"), {},
      *json::Parse(
          R"({"finalizers":["a/b","c/d"],"resourceVersion":"1","deletionTimestamp":"2024-01-01T00:00:00Z"})"),
      *json::Parse(R"({"finalizers":["a/b"],"deletionTimestamp":"2024-01-01T00:00:00Z"})"), errors);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors.causes()[0].message,
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
            "[]string{\"c/d\"}");
}

TEST(LabelSelectorRulesTest, OperatorsAndValues) {
  FieldErrors errors;
  ValidateLabelSelector(*json::Parse(R"({"matchExpressions":[{"key":"a","operator":"In"},
      {"key":"a","operator":"Exists","values":["x"]},{"key":"a","operator":"Is"}]})"),
                        FieldPath("spec.selector"), errors);
  ASSERT_EQ(errors.causes().size(), 3u);
  EXPECT_EQ(errors.causes()[0].field, "spec.selector.matchExpressions[0].values");
  EXPECT_EQ(errors.causes()[1].message,
            "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  EXPECT_EQ(errors.causes()[2].message, "Invalid value: \"Is\": not a valid selector operator");
}

}  // namespace
}  // namespace flyball::api
