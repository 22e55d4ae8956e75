// Static types of expressions (upstream: cel-go common/types). A Type is immutable and owned by a TypeStore,
// or is one of the basic types, which live for ever. Types are compared by structure. Thread-safe once made.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace flyball::cel {

class ObjectDecl;

enum class TypeKind : std::uint8_t {
  kError,  // of an expression that has been reported already; agrees with everything
  kDyn,
  kAny,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kDuration,
  kTimestamp,
  kNull,
  kList,
  kMap,
  kStruct,
  kOpaque,
  kType,
  kTypeParam,
};

struct Type {
  TypeKind kind = TypeKind::kDyn;
  std::string name;  // at run time: "int", "list", "google.protobuf.Timestamp", "net.IP"
  std::vector<const Type*> params;
  bool nullable = false;               // a wrapper such as google.protobuf.Int64Value
  int variable = -1;                   // of a type parameter made by the checker
  const ObjectDecl* object = nullptr;  // the fields of a struct; null if it has none that can be selected

  bool IsDyn() const { return kind == TypeKind::kDyn || kind == TypeKind::kAny; }
  bool IsError() const { return kind == TypeKind::kError; }
  bool IsOptional() const { return kind == TypeKind::kOpaque && name == "optional_type"; }
  // As the `type` column of tools shows it: "list(int)", "wrapper(int)", "google.protobuf.Duration".
  std::string ToString() const;
  // As error messages show it: "duration", "null", "list(int)".
  std::string Format() const;
  // Equal structure; type parameters by name only if `exact`.
  bool Same(const Type& other, bool exact) const;
  // A value of type `from` may be used where this type is wanted. Type parameters are not resolved.
  bool AcceptsType(const Type& from) const;
};

namespace types {
extern const Type kError, kDyn, kAny, kBool, kInt, kUint, kDouble, kString, kBytes, kDuration, kTimestamp,
    kNull, kType, kListDyn, kMapDyn, kIp, kCidr, kUrl, kQuantity, kSemver, kNamedFormat, kAuthorizer,
    kPathCheck, kGroupCheck, kResourceCheck, kDecision, kOptionalDyn;
}  // namespace types

// Owns types that are made while declarations are built or an expression is checked. Thread-compatible.
class TypeStore {
 public:
  TypeStore() = default;
  TypeStore(const TypeStore&) = delete;
  TypeStore& operator=(const TypeStore&) = delete;

  const Type* List(const Type* element);
  const Type* Map(const Type* key, const Type* value);
  const Type* Optional(const Type* value);
  const Type* Opaque(std::string name, std::vector<const Type*> params);
  const Type* Struct(std::string name, const ObjectDecl* object);
  const Type* TypeOf(const Type* param);  // type(param)
  const Type* Param(std::string name, int variable = -1);
  const Type* Wrapper(const Type& wrapped);
  // With its parameters.
  const Type* Copy(const Type& type);

 private:
  const Type* Add(Type type);
  std::deque<Type> types_;
};

}  // namespace flyball::cel
