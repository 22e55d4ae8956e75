// The schemas of an OpenAPI document: which types it needs, and how each is written. Internal to openapi.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/openapi/json_text.h"
#include "api/schema/schema.h"
#include "api/wire/discovery.h"

namespace flyball::api {

enum class Dialect { kV2, kV3 };

struct GroupVersionKind {
  std::string group, version, kind;
  auto operator<=>(const GroupVersionKind&) const = default;
};

void WriteGroupVersionKind(const GroupVersionKind& gvk, JsonText& json);

// "io.k8s.api.core.v1.Pod" of a built-in kind, "com.example.sample.v1.Network" of one of sample.example.com.
std::string SchemaName(const KindInfo& kind);

// Quantities and numbers or texts, which definitions say in words of their own.
bool IsIntOrStringName(std::string_view schema_name);
bool IsQuantityName(std::string_view schema_name);

inline constexpr std::string_view kMetaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1.";

// Collects the types a document refers to and writes them.
class SchemaSet {
 public:
  explicit SchemaSet(Dialect dialect) : dialect_(dialect) {}

  // The kind itself and its list.
  void AddKind(const KindInfo& kind);
  // A built-in type and all it refers to.
  void AddType(const TypeInfo& type);
  // Says that the schema of that name is this kind.
  void AddIdentity(std::string_view schema_name, GroupVersionKind gvk);

  // All members of components.schemas, or of definitions.
  void Write(JsonText& json) const;

  // {"$ref": "#/components/schemas/<name>"}.
  void WriteRef(std::string_view name, JsonText& json) const;

 private:
  void WriteType(const TypeInfo& type, JsonText& json) const;
  void WriteWellKnown(std::string_view name, JsonText& json) const;
  void WriteField(const FieldInfo& field, JsonText& json) const;
  void WriteFieldExtensions(const FieldInfo& field, JsonText& json) const;
  // The members that say what a value of this type looks like.
  void WriteShape(const TypeInfo& type, JsonText& json) const;
  void WriteElement(const TypeInfo& type, JsonText& json) const;
  void WriteDefault(const FieldInfo& field, JsonText& json) const;
  void WriteReference(std::string_view name, JsonText& json) const;
  void AddEmbedded(json::Value& node) const;
  void WriteCustom(const KindInfo& kind, JsonText& json) const;
  void WriteCustomList(const KindInfo& kind, JsonText& json) const;
  void WriteIdentities(std::string_view name, JsonText& json) const;

  const Dialect dialect_;
  std::map<std::string_view, const TypeInfo*> types_;
  std::set<std::string_view> well_known_;
  std::map<std::string, const KindInfo*> custom_;
  std::map<std::string, std::set<GroupVersionKind>, std::less<>> identities_;
};

// A custom schema node as Swagger 2.0 can say it: what it has no words for is left out.
json::Value ToSwagger(const json::Value& node);

}  // namespace flyball::api
