#include "api/schema/schema.h"

#include <algorithm>

namespace flyball::api {
namespace {

constexpr std::string_view kMetaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1.";

const TypeInfo& MetaType(std::string_view name) {
  return *FindType(std::string(kMetaPackage).append(name));
}

}  // namespace

const FieldInfo* TypeInfo::FindField(std::string_view field_name) const {
  // A custom resource's author decides how many there are; his are sorted.
  constexpr std::size_t kMany = 32;
  if (schema != nullptr && fields.size() > kMany) {
    const auto found =
        std::lower_bound(fields.begin(), fields.end(), field_name,
                         [](const FieldInfo& field, std::string_view wanted) { return field.name < wanted; });
    return found != fields.end() && found->name == field_name ? &*found : nullptr;
  }
  for (const FieldInfo& field : fields) {
    if (field.name == field_name) return &field;
  }
  return nullptr;
}

std::string KindInfo::ApiVersion() const {
  if (group.empty()) return std::string(version);
  return std::string(group).append("/").append(version);
}

std::string KindInfo::GroupResource() const {
  if (group.empty()) return std::string(plural);
  return std::string(plural).append(".").append(group);
}

bool KindInfo::HasSubresource(std::string_view name) const {
  return FindSubresource(name) != nullptr;
}

const SubresourceInfo* KindInfo::FindSubresource(std::string_view name) const {
  for (const SubresourceInfo& subresource : subresources) {
    if (subresource.name == name) return &subresource;
  }
  return nullptr;
}

const KindInfo* FindBuiltinKind(std::string_view group, std::string_view version, std::string_view kind) {
  for (const KindInfo& info : BuiltinKinds()) {
    if (info.kind == kind && info.group == group && info.version == version) return &info;
  }
  return nullptr;
}

const TypeInfo* FindType(std::string_view name) {
  const auto types = BuiltinTypes();
  const auto found =
      std::lower_bound(types.begin(), types.end(), name,
                       [](const TypeInfo* type, std::string_view n) { return type->name < n; });
  return found != types.end() && (*found)->name == name ? *found : nullptr;
}

const TypeInfo& ObjectMetaType() {
  static const TypeInfo& type = MetaType("ObjectMeta");
  return type;
}

const TypeInfo& ListMetaType() {
  static const TypeInfo& type = MetaType("ListMeta");
  return type;
}

const TypeInfo& DeleteOptionsType() {
  static const TypeInfo& type = MetaType("DeleteOptions");
  return type;
}

}  // namespace flyball::api
