// What a schema declares to expressions: the static type of each part, and how large it can get, which static
// costs are estimated from (upstream: apiserver cel.DeclType). Immutable after Build; thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/schema/schema.h"
#include "cel/types/type.h"

namespace flyball::cel {

// The largest request; what bounds the size of data whose schema states no limit.
inline constexpr std::int64_t kMaxRequestBytes = 3 * 1024 * 1024;

struct DeclType;

struct DeclField {
  std::string name;  // escaped
  const DeclType* type;
};

// The fields of an object type.
class ObjectDecl {
 public:
  const DeclField* Find(std::string_view name) const;
  void Add(DeclField field) { fields_.push_back(std::move(field)); }
  void Sort();
  // Adds to fields that are sorted, or replaces the one of that name.
  void Set(DeclField field);

 private:
  std::vector<DeclField> fields_;
};

struct DeclType {
  const Type* type = nullptr;
  const ObjectDecl* object = nullptr;  // of objects
  const DeclType* key = nullptr;       // of maps
  const DeclType* element = nullptr;   // of lists and maps
  std::int64_t max_elements = 0;
  std::int64_t min_serialized_size = 0;
  const Schema* schema = nullptr;
};

class DeclTypes {
 public:
  // The declaration of `schema`, whose generated object types are called `name`, `name.field` and so on.
  // `is_root`: with the fields every resource has. Null root() if the schema says nothing an expression could
  // use.
  static std::unique_ptr<const DeclTypes> Build(const Schema& schema, bool is_root, std::string_view name);

  const DeclType* root() const { return root_; }

 private:
  DeclTypes() = default;
  const DeclType* Convert(const Schema& schema, bool is_root, const std::string& name, int depth);
  const DeclType* ConvertString(const Schema& schema);
  const DeclType* ConvertObject(const Schema& schema, const std::string& name, int depth);
  const DeclType* ConvertMap(const Schema& schema, const std::string& name, int depth);
  const DeclType* ConvertList(const Schema& schema, const std::string& name, int depth);
  DeclType* Add(DeclType type) { return &decls_.emplace_back(type); }

  TypeStore types_;
  std::deque<DeclType> decls_;
  std::deque<ObjectDecl> objects_;
  const DeclType* root_ = nullptr;
};

}  // namespace flyball::cel
