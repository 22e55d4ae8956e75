#include "cel/policy/policy_variables.h"

#include <deque>
#include <initializer_list>
#include <string>
#include <utility>

#include "cel/schema/decl_type.h"

namespace flyball::cel {
namespace {

// Object types made of a list of fields.
class Declarations {
 public:
  using Fields = std::initializer_list<std::pair<const char*, const Type*>>;

  const Type* Object(std::string name, Fields fields) {
    ObjectDecl& object = objects_.emplace_back();
    for (const auto& [field, type] : fields)
      object.Add({field, &fields_.emplace_back(DeclType{.type = type, .object = type->object})});
    object.Sort();
    return types_.Struct(std::move(name), &object);
  }
  const Type* List(const Type* element) { return types_.List(element); }
  const Type* Map(const Type* value) { return types_.Map(&types::kString, value); }

 private:
  TypeStore types_;
  std::deque<DeclType> fields_;
  std::deque<ObjectDecl> objects_;
};

const Type* const kText = &types::kString;

const Type* DeclareRequest(Declarations& d) {
  const Type* kind =
      d.Object("kubernetes.GroupVersionKind", {{"group", kText}, {"version", kText}, {"kind", kText}});
  const Type* resource = d.Object("kubernetes.GroupVersionResource",
                                  {{"group", kText}, {"version", kText}, {"resource", kText}});
  const Type* user = d.Object(
      "kubernetes.UserInfo",
      {{"username", kText}, {"uid", kText}, {"groups", d.List(kText)}, {"extra", d.Map(d.List(kText))}});
  return d.Object("kubernetes.AdmissionRequest", {{"kind", kind},
                                                  {"resource", resource},
                                                  {"subResource", kText},
                                                  {"requestKind", kind},
                                                  {"requestResource", resource},
                                                  {"requestSubResource", kText},
                                                  {"name", kText},
                                                  {"namespace", kText},
                                                  {"operation", kText},
                                                  {"userInfo", user},
                                                  {"dryRun", &types::kBool},
                                                  {"options", &types::kDyn}});
}

const Type* DeclareNamespace(Declarations& d) {
  const Type *integer = &types::kInt, *time = &types::kTimestamp;
  const Type* spec = d.Object("kubernetes.NamespaceSpec", {{"finalizers", d.List(kText)}});
  const Type* condition = d.Object("kubernetes.NamespaceCondition", {{"status", kText},
                                                                     {"type", kText},
                                                                     {"lastTransitionTime", time},
                                                                     {"message", kText},
                                                                     {"reason", kText}});
  const Type* status =
      d.Object("kubernetes.NamespaceStatus", {{"conditions", d.List(condition)}, {"phase", kText}});
  const Type* metadata = d.Object("kubernetes.NamespaceMetadata", {{"name", kText},
                                                                   {"generateName", kText},
                                                                   {"namespace", kText},
                                                                   {"labels", d.Map(kText)},
                                                                   {"annotations", d.Map(kText)},
                                                                   {"UID", kText},
                                                                   {"creationTimestamp", time},
                                                                   {"deletionGracePeriodSeconds", integer},
                                                                   {"deletionTimestamp", time},
                                                                   {"generation", integer},
                                                                   {"resourceVersion", kText},
                                                                   {"finalizers", d.List(kText)}});
  return d.Object("kubernetes.Namespace", {{"metadata", metadata}, {"spec", spec}, {"status", status}});
}

}  // namespace

const Type* AdmissionRequestType() {
  static Declarations declarations;
  static const Type* const type = DeclareRequest(declarations);
  return type;
}

const Type* NamespaceObjectType() {
  static Declarations declarations;
  static const Type* const type = DeclareNamespace(declarations);
  return type;
}

}  // namespace flyball::cel
