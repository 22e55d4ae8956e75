// Type agreement with type variables (upstream: cel-go checker/types.go). Confined to one thread.
#pragma once

#include <utility>
#include <vector>

#include "cel/types/type.h"

namespace flyball::cel {

class Unifier {
 public:
  explicit Unifier(TypeStore& store) : store_(store) {}

  const Type* NewVariable();
  // A value of type `a` may stand where `b` is wanted. Variables are bound if so, and left alone if not.
  bool Assignable(const Type* a, const Type* b);
  bool AssignableAll(const std::vector<const Type*>& a, const std::vector<const Type*>& b);
  // With bound variables replaced; unbound ones become dyn if `to_dyn`.
  const Type* Resolve(const Type* type, bool to_dyn);
  // An overload's signature with variables of its own for its parameters.
  const Type* Instantiate(const Type* type, const std::vector<const Type*>& params,
                          const std::vector<const Type*>& fresh);

  static const Type* MoreGeneral(const Type* a, const Type* b);

 private:
  const Type* Find(const Type* type) const {
    return type->kind == TypeKind::kTypeParam && type->variable >= 0
               ? bindings_[static_cast<std::size_t>(type->variable)]
               : nullptr;
  }
  void Bind(const Type* variable, const Type* type);
  bool Assign(const Type* a, const Type* b, int depth);
  bool AssignAll(const std::vector<const Type*>& a, const std::vector<const Type*>& b, int depth);
  // Whether `variable` can stand for `type`, and whether it was bound before.
  std::pair<bool, bool> Substitutes(const Type* type, const Type* variable, int depth);
  bool NotWithin(const Type* type, const Type* within) const;
  void Undo(std::size_t mark);

  TypeStore& store_;
  std::vector<const Type*> bindings_;
  std::vector<std::pair<int, const Type*>> trail_;
};

}  // namespace flyball::cel
