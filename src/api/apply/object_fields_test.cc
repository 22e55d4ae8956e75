#include "api/apply/object_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "json/json.h"

namespace flyball::api {
namespace {

json::Value ObjectJson(std::string_view text) {
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

const TypeInfo& Kind(std::string_view group, std::string_view kind) {
  return *FindBuiltinKind(group, "v1", kind)->type;
}

std::string Fields(const TypeInfo& type, std::string_view value) {
  return json::Write(FieldsOf(type, ObjectJson(value)).ToFieldsV1());
}

std::string FieldsText(const FieldSet& set) {
  return json::Write(set.ToFieldsV1());
}

std::string Changes(const TypeInfo& type, std::string_view before, std::string_view after) {
  const Comparison c = Compare(type, ObjectJson(before), ObjectJson(after));
  return "+" + FieldsText(c.added) + " ~" + FieldsText(c.modified) + " -" + FieldsText(c.removed);
}

// A custom kind: what a CustomResourceDefinition makes of
// {spec: {size: integer, tags: set, items: map by id, free: any, blob: atomic}}.
struct CustomType {
  CustomType() {
    text.kind = TypeKind::kString;
    number.kind = TypeKind::kInt64;
    any.kind = TypeKind::kObject;
    any.preserve_unknown = true;
    tags.kind = TypeKind::kList;
    tags.element = &text;
    tags.list_type = ListType::kSet;
    item.kind = TypeKind::kObject;
    item.fields = item_fields;
    items.kind = TypeKind::kList;
    items.element = &item;
    items.list_type = ListType::kMap;
    items.list_keys = keys;
    blob.kind = TypeKind::kMap;
    blob.element = &text;
    blob.atomic = true;
    spec.kind = TypeKind::kObject;
    spec.fields = spec_fields;
    root.kind = TypeKind::kObject;
    root.fields = root_fields;
    for (TypeInfo* type : {&text, &number, &any, &tags, &item, &items, &blob, &spec, &root}) {
      type->schema = &node;
    }
  }

  json::Value node;
  TypeInfo text, number, any, tags, item, items, blob, spec, root;
  const std::string_view keys[1] = {"id"};
  const FieldInfo item_fields[2] = {{.name = "id", .type = &number, .default_json = "7"},
                                    {.name = "value", .type = &text}};
  const FieldInfo spec_fields[5] = {{.name = "size", .type = &number},
                                    {.name = "tags", .type = &tags},
                                    {.name = "items", .type = &items},
                                    {.name = "free", .type = &any},
                                    {.name = "blob", .type = &blob}};
  const FieldInfo root_fields[2] = {{.name = "metadata", .type = &ObjectMetaType()},
                                    {.name = "spec", .type = &spec}};
};

TEST(FieldsOfTest, MapsAreMembersEach) {
  EXPECT_EQ(Fields(Kind("", "ConfigMap"), R"({"data":{"b":"1","a":"2"},"immutable":true})"),
            R"({"f:data":{"f:a":{},"f:b":{}},"f:immutable":{}})");
}

TEST(FieldsOfTest, KeyedItemsAreOwnedWithTheirDefaultKeys) {
  EXPECT_EQ(Fields(Kind("", "Service"), R"({"spec":{"ports":[{"port":443,"name":"b"},{"port":80}]}})"),
            R"({"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},)"
            R"("k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}}})");
}

// OpenAPI publishes the zero value as the default of a field that is always written.
TEST(FieldsOfTest, AbsentKeyOfABuiltinIsItsZeroValue) {
  EXPECT_EQ(Fields(Kind("", "Pod"), R"({"spec":{"containers":[{"image":"x"}]}})"),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"\"}":{".":{},"f:image":{}}}}})");
}

TEST(FieldsOfTest, AtomicPartsAreLeaves) {
  EXPECT_EQ(
      Fields(Kind("apps", "Deployment"),
             R"({"spec":{"selector":{"matchLabels":{"a":"b"}},
                       "template":{"spec":{"tolerations":[{"key":"k"}],"nodeSelector":{"a":"b"}}}}})"),
      R"({"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:nodeSelector":{},"f:tolerations":{}}}}})");
}

TEST(FieldsOfTest, ItemsThatAreAtomicHaveNothingBelow) {
  EXPECT_EQ(Fields(Kind("", "ConfigMap"),
                   R"({"metadata":{"ownerReferences":[{"uid":"u","name":"n","kind":"K","apiVersion":"v1"}],
                       "finalizers":["z","a"]}})"),
            R"({"f:metadata":{"f:finalizers":{"v:\"a\"":{},"v:\"z\"":{}},)"
            R"("f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}})");
}

TEST(FieldsOfTest, EmptyObjectsAndNullsAreLeavesEmptyListsAreNothing) {
  EXPECT_EQ(Fields(Kind("", "Pod"), R"({"spec":{"securityContext":{},"nodeName":null,"containers":[]}})"),
            R"({"f:spec":{"f:nodeName":{},"f:securityContext":{}}})");
}

TEST(FieldsOfTest, DuplicateItemsAreOwnedButNotTheirFields) {
  EXPECT_EQ(Fields(Kind("", "Pod"), R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"a"}]}})"),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{}}}})");
}

TEST(FieldsOfTest, PartsWithoutSchemaAreDeduced) {
  const CustomType custom;
  EXPECT_EQ(
      Fields(custom.root, R"({"spec":{"free":{"x":{"y":1,"l":[1,{"z":2}]},"n":null},"blob":{"a":"b"}}})"),
      R"({"f:spec":{"f:blob":{},"f:free":{"f:n":{},"f:x":{".":{},"f:l":{},"f:y":{}}}}})");
}

TEST(FieldsOfTest, CustomKeysTakeTheirDeclaredDefault) {
  const CustomType custom;
  EXPECT_EQ(
      Fields(custom.root, R"({"spec":{"items":[{"value":"v"}],"tags":["b","a"]}})"),
      R"({"f:spec":{"f:items":{"k:{\"id\":7}":{".":{},"f:value":{}}},"f:tags":{"v:\"a\"":{},"v:\"b\"":{}}}})");
}

TEST(CompareTest, EqualObjectsHaveNoChanges) {
  const json::Value pod = ObjectJson(R"({"spec":{"containers":[{"name":"a","image":"x"}],"nodeName":"n"}})");
  EXPECT_TRUE(Compare(Kind("", "Pod"), pod, pod).empty());
}

TEST(CompareTest, LeavesAreAddedModifiedRemoved) {
  EXPECT_EQ(Changes(Kind("", "ConfigMap"), R"({"data":{"a":"1","b":"1"}})", R"({"data":{"b":"2","c":"1"}})"),
            R"(+{"f:data":{"f:c":{}}} ~{"f:data":{"f:b":{}}} -{"f:data":{"f:a":{}}})");
}

TEST(CompareTest, AddedAndRemovedContainersAreMembersToo) {
  EXPECT_EQ(Changes(Kind("", "ConfigMap"), R"({"data":{"a":"1"}})", R"({"binaryData":{"b":"eA=="}})"),
            R"(+{"f:binaryData":{".":{},"f:b":{}}} ~{} -{"f:data":{".":{},"f:a":{}}})");
}

// Go writes structs without a pointer whether or not they were set, so they are never added.
TEST(CompareTest, StructsOfBuiltinsArePresentFromTheBeginning) {
  EXPECT_EQ(
      Changes(Kind("apps", "Deployment"), "null",
              R"({"spec":{"replicas":1,"strategy":{"type":"Recreate"},
                        "template":{"spec":{"containers":[{"name":"a","resources":{}}]}}},"status":{}})"),
      R"(+{"f:spec":{"f:replicas":{},"f:strategy":{"f:type":{}},"f:template":{"f:spec":{"f:containers":)"
      R"({"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:resources":{}}}}}}} ~{} -{})");
}

TEST(CompareTest, CustomObjectsStartFromNothing) {
  const CustomType custom;
  EXPECT_EQ(Changes(custom.root, "null", R"({"spec":{"size":1,"free":{}}})"),
            R"(+{"f:spec":{".":{},"f:free":{},"f:size":{}}} ~{} -{})");
}

TEST(CompareTest, KeyedItemsAreFoundWhereverTheyAre) {
  EXPECT_EQ(Changes(Kind("", "Pod"),
                    R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
                    R"({"spec":{"containers":[{"name":"c"},{"name":"b","image":"2"}]}})"),
            R"(+{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}}}} )"
            R"(~{"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{"f:image":{}}}}} )"
            R"(-{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:name":{}}}}})");
}

TEST(CompareTest, OrderAloneIsNoChangeOfAKeyedList) {
  EXPECT_EQ(Changes(Kind("", "Pod"), R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                    R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"),
            "+{} ~{} -{}");
  EXPECT_EQ(Changes(Kind("", "Pod"), R"({"spec":{"tolerations":[{"key":"a"},{"key":"b"}]}})",
                    R"({"spec":{"tolerations":[{"key":"b"},{"key":"a"}]}})"),
            R"(+{} ~{"f:spec":{"f:tolerations":{}}} -{})");
}

TEST(CompareTest, DuplicatesAreComparedAsOnePiece) {
  EXPECT_EQ(Changes(Kind("", "Pod"), R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"a"}]}})",
                    R"({"spec":{"containers":[{"name":"a","image":"2"},{"name":"a"}]}})"),
            R"(+{} ~{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{}}}} -{})");
}

TEST(CompareTest, NumbersCompareByValueAndKindsMayChangeWhereNothingIsDeclared) {
  const CustomType custom;
  EXPECT_EQ(Changes(custom.root, R"({"spec":{"size":1}})", R"({"spec":{"size":1.0}})"), "+{} ~{} -{}");
  EXPECT_EQ(Changes(custom.root, R"({"spec":{"free":{"a":{"b":1}}}})", R"({"spec":{"free":{"a":2}}})"),
            R"(+{} ~{"f:spec":{"f:free":{"f:a":{}}}} -{"f:spec":{"f:free":{"f:a":{"f:b":{}}}}})");
}

TEST(CompareObjectsTest, IdentityBelongsToNobody) {
  const Comparison c = CompareObjects(
      Kind("", "ConfigMap"), json::Value(),
      ObjectJson(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","namespace":"s","uid":"u",
                         "resourceVersion":"1","generation":1,"creationTimestamp":"t","managedFields":[{}],
                         "labels":{"l":"1"},"generateName":"g"}})"));
  EXPECT_EQ(FieldsText(c.added), R"({"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:l":{}}}})");
  const CustomType custom;
  EXPECT_EQ(FieldsText(CompareObjects(custom.root, json::Value(),
                                      ObjectJson(R"({"metadata":{"name":"n","labels":{}}})"))
                           .added),
            R"({"f:metadata":{"f:labels":{}}})");
}

TEST(WithNamedFieldsTest, NamedFieldsBecomeMembersMapEntriesDoNot) {
  const CustomType custom;
  const FieldSet set =
      FieldsOf(custom.root, ObjectJson(R"({"spec":{"items":[{"id":1}],"free":{"a":{"b":1}}}})"));
  EXPECT_EQ(FieldsText(WithNamedFields(custom.root, set)),
            R"({"f:spec":{".":{},"f:free":{".":{},"f:a":{".":{},"f:b":{}}},)"
            R"("f:items":{".":{},"k:{\"id\":1}":{".":{},"f:id":{}}}}})");
}

TEST(FieldsOfTest, DeepValuesDoNotExhaustTheStack) {
  const CustomType custom;
  std::string deep = "1";
  for (int i = 0; i < 5000; ++i) deep = R"({"a":)" + deep + "}";
  const json::Value object = ObjectJson(R"({"spec":{"free":)" + deep + "}}");
  EXPECT_FALSE(FieldsOf(custom.root, object).empty());
  EXPECT_FALSE(Compare(custom.root, json::Value(), object).empty());
}

}  // namespace
}  // namespace flyball::api
