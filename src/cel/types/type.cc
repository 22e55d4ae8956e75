#include "cel/types/type.h"

#include <utility>

namespace flyball::cel {
namespace types {
const Type kError{TypeKind::kError, "error", {}, false, -1, nullptr};
const Type kDyn{TypeKind::kDyn, "dyn", {}, false, -1, nullptr};
const Type kAny{TypeKind::kAny, "google.protobuf.Any", {}, false, -1, nullptr};
const Type kBool{TypeKind::kBool, "bool", {}, false, -1, nullptr};
const Type kInt{TypeKind::kInt, "int", {}, false, -1, nullptr};
const Type kUint{TypeKind::kUint, "uint", {}, false, -1, nullptr};
const Type kDouble{TypeKind::kDouble, "double", {}, false, -1, nullptr};
const Type kString{TypeKind::kString, "string", {}, false, -1, nullptr};
const Type kBytes{TypeKind::kBytes, "bytes", {}, false, -1, nullptr};
const Type kDuration{TypeKind::kDuration, "google.protobuf.Duration", {}, false, -1, nullptr};
const Type kTimestamp{TypeKind::kTimestamp, "google.protobuf.Timestamp", {}, false, -1, nullptr};
const Type kNull{TypeKind::kNull, "null_type", {}, false, -1, nullptr};
const Type kType{TypeKind::kType, "type", {}, false, -1, nullptr};
const Type kListDyn{TypeKind::kList, "list", {&kDyn}, false, -1, nullptr};
const Type kMapDyn{TypeKind::kMap, "map", {&kDyn, &kDyn}, false, -1, nullptr};
const Type kIp{TypeKind::kOpaque, "net.IP", {}, false, -1, nullptr};
const Type kCidr{TypeKind::kOpaque, "net.CIDR", {}, false, -1, nullptr};
const Type kUrl{TypeKind::kStruct, "kubernetes.URL", {}, false, -1, nullptr};
const Type kQuantity{TypeKind::kStruct, "kubernetes.Quantity", {}, false, -1, nullptr};
const Type kSemver{TypeKind::kStruct, "kubernetes.Semver", {}, false, -1, nullptr};
const Type kNamedFormat{TypeKind::kStruct, "kubernetes.NamedFormat", {}, false, -1, nullptr};
const Type kAuthorizer{TypeKind::kStruct, "kubernetes.authorization.Authorizer", {}, false, -1, nullptr};
const Type kPathCheck{TypeKind::kStruct, "kubernetes.authorization.PathCheck", {}, false, -1, nullptr};
const Type kGroupCheck{TypeKind::kStruct, "kubernetes.authorization.GroupCheck", {}, false, -1, nullptr};
const Type kResourceCheck{
    TypeKind::kStruct, "kubernetes.authorization.ResourceCheck", {}, false, -1, nullptr};
const Type kDecision{TypeKind::kStruct, "kubernetes.authorization.Decision", {}, false, -1, nullptr};
const Type kOptionalDyn{TypeKind::kOpaque, "optional_type", {&kDyn}, false, -1, nullptr};
}  // namespace types

namespace {

std::string JoinTypes(const std::vector<const Type*>& params, std::string (Type::*text)() const) {
  std::string out;
  for (const Type* param : params) {
    if (!out.empty()) out += ", ";
    out += (param->*text)();
  }
  return out;
}

}  // namespace

std::string Type::ToString() const {
  if (kind == TypeKind::kTypeParam) return "<" + name + ">";
  if (params.empty()) return nullable ? "wrapper(" + name + ")" : name;
  return name + "(" + JoinTypes(params, &Type::ToString) + ")";
}

std::string Type::Format() const {
  switch (kind) {
    case TypeKind::kAny:
      return "any";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kError:
      return "!error!";
    case TypeKind::kNull:
      return "null";
    case TypeKind::kTimestamp:
      return "timestamp";
    default:
      break;
  }
  if (params.empty()) return nullable ? "wrapper(" + name + ")" : name;
  return name + "(" + JoinTypes(params, &Type::Format) + ")";
}

bool Type::Same(const Type& other, bool exact) const {
  if (this == &other) return true;
  if (kind != other.kind || params.size() != other.params.size()) return false;
  if ((exact || kind != TypeKind::kTypeParam) && name != other.name) return false;
  for (std::size_t i = 0; i < params.size(); ++i)
    if (!params[i]->Same(*other.params[i], exact)) return false;
  return true;
}

bool Type::AcceptsType(const Type& from) const {
  if (this == &from || IsDyn() || kind == TypeKind::kTypeParam) return true;
  if (nullable && from.kind == TypeKind::kNull) return true;
  if (kind != from.kind || name != from.name || params.size() != from.params.size()) return false;
  for (std::size_t i = 0; i < params.size(); ++i)
    if (!params[i]->AcceptsType(*from.params[i])) return false;
  return true;
}

const Type* TypeStore::Add(Type type) {
  types_.push_back(std::move(type));
  return &types_.back();
}
const Type* TypeStore::List(const Type* element) {
  return Add({TypeKind::kList, "list", {element}});
}
const Type* TypeStore::Map(const Type* key, const Type* value) {
  return Add({TypeKind::kMap, "map", {key, value}});
}
const Type* TypeStore::Optional(const Type* value) {
  return Add({TypeKind::kOpaque, "optional_type", {value}});
}
const Type* TypeStore::Opaque(std::string name, std::vector<const Type*> params) {
  return Add({TypeKind::kOpaque, std::move(name), std::move(params)});
}
const Type* TypeStore::Struct(std::string name, const ObjectDecl* object) {
  Type type{TypeKind::kStruct, std::move(name), {}, false, -1, nullptr};
  type.object = object;
  return Add(std::move(type));
}
const Type* TypeStore::TypeOf(const Type* param) {
  return Add({TypeKind::kType, "type", {param}});
}
const Type* TypeStore::Param(std::string name, int variable) {
  Type type{TypeKind::kTypeParam, std::move(name), {}, false, -1, nullptr};
  type.variable = variable;
  return Add(std::move(type));
}
const Type* TypeStore::Wrapper(const Type& wrapped) {
  Type type = wrapped;
  type.nullable = true;
  return Add(std::move(type));
}

const Type* TypeStore::Copy(const Type& type) {
  Type copy = type;
  for (const Type*& param : copy.params) param = Copy(*param);
  return Add(std::move(copy));
}

}  // namespace flyball::cel
