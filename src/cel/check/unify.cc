#include "cel/check/unify.h"

namespace flyball::cel {
namespace {

// No expression has types nested like that.
constexpr int kMaxTypeDepth = 400;

bool IsNullable(const Type& type) {
  switch (type.kind) {
    case TypeKind::kOpaque:
    case TypeKind::kStruct:
    case TypeKind::kAny:
    case TypeKind::kDuration:
    case TypeKind::kTimestamp:
      return true;
    default:
      return type.AcceptsType(types::kNull);
  }
}

bool EqualOrLessSpecific(const Type& a, const Type& b) {
  if (a.IsDyn() || a.kind == TypeKind::kTypeParam) return true;
  if (b.IsDyn() || b.kind == TypeKind::kTypeParam) return false;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      if (a.name != b.name || a.params.size() != b.params.size()) return false;
      for (std::size_t i = 0; i < a.params.size(); ++i)
        if (!EqualOrLessSpecific(*a.params[i], *b.params[i])) return false;
      return true;
    case TypeKind::kType:
      return true;
    default:
      return a.Same(b, true);
  }
}

}  // namespace

const Type* Unifier::NewVariable() {
  const auto index = static_cast<int>(bindings_.size());
  bindings_.push_back(nullptr);
  return store_.Param("_var" + std::to_string(index), index);
}

const Type* Unifier::MoreGeneral(const Type* a, const Type* b) {
  return EqualOrLessSpecific(*a, *b) ? a : b;
}

void Unifier::Bind(const Type* variable, const Type* type) {
  trail_.emplace_back(variable->variable, Find(variable));
  bindings_[static_cast<std::size_t>(variable->variable)] = type;
}

void Unifier::Undo(std::size_t mark) {
  while (trail_.size() > mark) {
    bindings_[static_cast<std::size_t>(trail_.back().first)] = trail_.back().second;
    trail_.pop_back();
  }
}

bool Unifier::Assignable(const Type* a, const Type* b) {
  const std::size_t mark = trail_.size();
  if (Assign(a, b, 0)) return true;
  Undo(mark);
  return false;
}

bool Unifier::AssignableAll(const std::vector<const Type*>& a, const std::vector<const Type*>& b) {
  const std::size_t mark = trail_.size();
  if (AssignAll(a, b, 0)) return true;
  Undo(mark);
  return false;
}

bool Unifier::AssignAll(const std::vector<const Type*>& a, const std::vector<const Type*>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!Assign(a[i], b[i], depth)) return false;
  return true;
}

bool Unifier::Assign(const Type* a, const Type* b, int depth) {
  if (depth > kMaxTypeDepth) return false;
  if (b->kind == TypeKind::kTypeParam) {
    const auto [valid, bound] = Substitutes(a, b, depth);
    if (valid) return true;
    if (bound) return false;
  }
  if (a->kind == TypeKind::kTypeParam) return Substitutes(b, a, depth).first;
  if (a->IsDyn() || a->IsError() || b->IsDyn() || b->IsError()) return true;
  if (a->kind == TypeKind::kNull) return IsNullable(*b) || b->kind == TypeKind::kNull;
  if (b->kind == TypeKind::kNull) return IsNullable(*a);
  switch (a->kind) {
    case TypeKind::kType:
      return b->kind == TypeKind::kType;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      return a->kind == b->kind && a->name == b->name && AssignAll(a->params, b->params, depth + 1);
    default:
      return b->AcceptsType(*a);
  }
}

std::pair<bool, bool> Unifier::Substitutes(const Type* type, const Type* variable, int depth) {
  if (type->kind == variable->kind && type->Same(*variable, true)) return {true, true};
  if (const Type* bound = Find(variable)) {
    if (type->kind == bound->kind && type->Same(*bound, true)) return {true, true};
    if (!Assign(type, bound, depth + 1)) return {false, true};
    const Type* general = MoreGeneral(type, bound);
    if (NotWithin(variable, general)) Bind(variable, general);
    return {true, true};
  }
  if (!NotWithin(variable, type)) return {false, false};
  Bind(variable, type);
  return {true, false};
}

bool Unifier::NotWithin(const Type* type, const Type* within) const {
  if (type->Same(*within, true)) return false;
  switch (within->kind) {
    case TypeKind::kTypeParam: {
      const Type* bound = Find(within);
      return !bound || NotWithin(type, bound);
    }
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
    case TypeKind::kType:
      for (const Type* param : within->params)
        if (!NotWithin(type, param)) return false;
      return true;
    default:
      return true;
  }
}

const Type* Unifier::Resolve(const Type* type, bool to_dyn) {
  if (const Type* bound = Find(type)) return Resolve(bound, to_dyn);
  if (to_dyn && type->kind == TypeKind::kTypeParam) return &types::kDyn;
  if (type->params.empty()) return type;
  std::vector<const Type*> params;
  bool changed = false;
  for (const Type* param : type->params) {
    params.push_back(Resolve(param, to_dyn));
    changed = changed || params.back() != param;
  }
  if (!changed) return type;
  switch (type->kind) {
    case TypeKind::kList:
      return store_.List(params[0]);
    case TypeKind::kMap:
      return store_.Map(params[0], params[1]);
    case TypeKind::kType:
      return store_.TypeOf(params[0]);
    case TypeKind::kOpaque:
      return store_.Opaque(type->name, std::move(params));
    default:
      return type;
  }
}

const Type* Unifier::Instantiate(const Type* type, const std::vector<const Type*>& params,
                                 const std::vector<const Type*>& fresh) {
  if (type->kind == TypeKind::kTypeParam) {
    for (std::size_t i = 0; i < params.size(); ++i)
      if (params[i] == type) return fresh[i];
    return type;
  }
  if (type->params.empty()) return type;
  std::vector<const Type*> replaced;
  bool changed = false;
  for (const Type* param : type->params) {
    replaced.push_back(Instantiate(param, params, fresh));
    changed = changed || replaced.back() != param;
  }
  if (!changed) return type;
  switch (type->kind) {
    case TypeKind::kList:
      return store_.List(replaced[0]);
    case TypeKind::kMap:
      return store_.Map(replaced[0], replaced[1]);
    case TypeKind::kType:
      return store_.TypeOf(replaced[0]);
    default:
      return store_.Opaque(type->name, std::move(replaced));
  }
}

}  // namespace flyball::cel
