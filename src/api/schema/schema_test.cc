#include "api/schema/schema.h"

#include <gtest/gtest.h>

#include <set>

namespace flyball::api {
namespace {

TEST(Schema, FindsTypesFieldsAndKinds) {
  const TypeInfo* spec = FindType("io.k8s.api.apps.v1.DeploymentSpec");
  ASSERT_NE(spec, nullptr);
  const FieldInfo* replicas = spec->FindField("replicas");
  ASSERT_NE(replicas, nullptr);
  EXPECT_EQ(replicas->type->kind, TypeKind::kInt32);
  EXPECT_TRUE(replicas->pointer);
  EXPECT_EQ(replicas->default_json, "1");
  EXPECT_EQ(replicas->proto[0], 1);
  EXPECT_EQ(spec->FindField("nothing"), nullptr);
  EXPECT_EQ(FindType("io.k8s.api.apps.v1.Nothing"), nullptr);
  EXPECT_EQ(FindBuiltinKind("apps", "v1", "Nothing"), nullptr);
  const KindInfo* kind = FindBuiltinKind("apps", "v1", "Deployment");
  ASSERT_NE(kind, nullptr);
  EXPECT_EQ(kind->ApiVersion(), "apps/v1");
  EXPECT_EQ(kind->GroupResource(), "deployments.apps");
  EXPECT_EQ(kind->FindSubresource("scale")->kind, "Scale");
  EXPECT_FALSE(kind->HasSubresource("log"));
  EXPECT_EQ(FindBuiltinKind("", "v1", "Pod")->GroupResource(), "pods");
}

TEST(Schema, BodiesThatAreNotResourcesAreTypes) {
  EXPECT_EQ(FindKindType("autoscaling", "v1", "Scale")->name, "io.k8s.api.autoscaling.v1.Scale");
  EXPECT_EQ(FindKindType("policy", "v1", "Eviction")->name, "io.k8s.api.policy.v1.Eviction");
  EXPECT_EQ(FindKindType("", "v1", "Scale"), nullptr);
  EXPECT_NE(DeleteOptionsType().FindField("propagationPolicy"), nullptr);
  EXPECT_NE(ListMetaType().FindField("continue"), nullptr);
}

TEST(Schema, EveryKindStartsAsInGo) {
  for (const KindInfo& kind : BuiltinKinds()) {
    ASSERT_GE(kind.type->fields.size(), 3u) << kind.kind;
    EXPECT_EQ(kind.type->fields[0].name, "kind");
    EXPECT_EQ(kind.type->fields[1].name, "apiVersion");
    EXPECT_EQ(kind.type->fields[2].type, &ObjectMetaType());
  }
}

TEST(Schema, EveryKindThatIsListedHasAListTypeAndColumns) {
  for (const KindInfo& kind : BuiltinKinds()) {
    if (kind.verbs.find("list") == std::string_view::npos) continue;
    const TypeInfo* list = FindType(std::string(kind.type->name) + "List");
    ASSERT_NE(list, nullptr) << kind.kind;
    EXPECT_EQ(list->FindField("items")->type->element, kind.type);
    EXPECT_FALSE(kind.columns.empty()) << kind.kind;
  }
}

TEST(Schema, ObjectMetaIsWrittenInGoOrder) {
  std::string order;
  for (const FieldInfo& field : ObjectMetaType().fields) order.append(field.name).append(" ");
  EXPECT_EQ(order,
            "name generateName namespace selfLink uid resourceVersion generation creationTimestamp "
            "deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers "
            "managedFields ");
}

TEST(Schema, TypesAreSortedAndFieldsUnique) {
  std::string_view last;
  for (const TypeInfo* type : BuiltinTypes()) {
    EXPECT_LT(last, type->name);
    last = type->name;
    std::set<std::string_view> names;
    for (const FieldInfo& field : type->fields) EXPECT_TRUE(names.insert(field.name).second) << field.name;
  }
}

TEST(Schema, EverythingIsDescribed) {
  for (const TypeInfo* type : BuiltinTypes()) {
    EXPECT_FALSE(type->description.empty()) << type->name;
    if (type->kind != TypeKind::kObject) continue;
    for (const FieldInfo& field : type->fields)
      EXPECT_FALSE(field.description.empty()) << type->name << "." << field.name;
  }
  for (const KindInfo& kind : BuiltinKinds()) {
    for (const ColumnInfo& column : kind.columns)
      EXPECT_FALSE(column.description.empty()) << kind.kind << " " << column.name;
  }
}

TEST(Schema, ListKeysAndMergeKeysAreFieldsOfTheElement) {
  for (const TypeInfo* type : BuiltinTypes()) {
    for (const FieldInfo& field : type->fields) {
      for (const std::string_view key : field.type->list_keys)
        EXPECT_NE(field.type->element->FindField(key), nullptr) << type->name << "." << field.name;
      if (field.patch_key.empty()) continue;
      EXPECT_NE(field.type->element->FindField(field.patch_key), nullptr) << type->name << "." << field.name;
    }
  }
}

TEST(Schema, MembersThatRulesNameAreFields) {
  for (const TypeInfo* type : BuiltinTypes()) {
    for (const Rule& rule : type->rules) {
      for (const std::string_view member : rule.values)
        EXPECT_NE(type->FindField(member), nullptr) << type->name << " " << member;
    }
    if (type->union_discriminator.empty()) continue;
    EXPECT_NE(type->FindField(type->union_discriminator), nullptr) << type->name;
  }
}

}  // namespace
}  // namespace flyball::api
