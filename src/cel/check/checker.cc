#include "cel/check/checker.h"

#include <optional>
#include <string>

#include "cel/check/unify.h"
#include "cel/schema/decl_type.h"
#include "cel/schema/schema.h"

namespace flyball::cel {
namespace {

class Checker {
 public:
  Checker(Ast& ast, const Environment& environment, const std::vector<VariableDecl>& variables,
          std::vector<Issue>& issues)
      : ast_(ast), environment_(environment), variables_(variables), issues_(issues), unifier_(ast.types()) {}

  void Run() {
    Check(ast_.root);
    for (Expr& expr : ast_.nodes())
      if (expr.type) expr.type = unifier_.Resolve(expr.type, true);
  }

 private:
  struct Local {
    std::string_view name;
    const Type* type;
  };

  void Report(const Expr* at, std::string message) { issues_.push_back({at->offset, std::move(message), 0}); }
  void ReportAt(std::uint32_t offset, std::string message) {
    issues_.push_back({offset, std::move(message), 0});
  }
  void Mismatch(const Expr* at, const Type* expected, const Type* found) {
    Report(at, "expected type '" + expected->Format() + "' but found '" + found->Format() + "'");
  }
  void Undeclared(Expr* expr, std::string_view name) {
    expr->type = &types::kError;
    Report(expr, "undeclared reference to '" + std::string(name) + "' (in container '')");
  }

  void Check(Expr* expr) {
    switch (expr->kind) {
      case ExprKind::kLiteral:
        expr->type = TypeOfValue(expr->literal);
        break;
      case ExprKind::kIdent:
        CheckIdent(expr);
        break;
      case ExprKind::kSelect:
        CheckSelect(expr);
        break;
      case ExprKind::kCall:
        CheckCall(expr);
        break;
      case ExprKind::kList:
        CheckList(expr);
        break;
      case ExprKind::kMap:
        CheckMap(expr);
        break;
      case ExprKind::kStruct:
        CheckStruct(expr);
        break;
      case ExprKind::kComprehension:
        CheckComprehension(expr);
        break;
      case ExprKind::kUnspecified:
        expr->type = &types::kError;
        break;
    }
  }

  const Local* FindLocal(std::string_view name) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it)
      if (it->name == name) return &*it;
    return nullptr;
  }
  // A variable or type that is no local variable. `name` may be qualified.
  bool ResolveGlobal(Expr* expr, std::string_view name) {
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (variables_[i].name == name) {
        expr->target_kind = IdentTarget::kVariable;
        expr->variable = static_cast<int>(i);
        expr->type = variables_[i].type;
        return true;
      }
    const Type* type = environment_.FindType(name);
    if (!type) type = environment_.FindMessage(name);
    if (!type) return false;
    expr->target_kind = IdentTarget::kType;
    expr->type_value = environment_.FindType(name);
    expr->type = ast_.types().TypeOf(type);
    return true;
  }
  void CheckIdent(Expr* expr) {
    const bool rooted = expr->name.starts_with('.');
    const std::string_view name = rooted ? expr->name.substr(1) : expr->name;
    if (const Local* local = rooted ? nullptr : FindLocal(name)) {
      expr->target_kind = IdentTarget::kLocal;
      expr->type = local->type;
      return;
    }
    if (!ResolveGlobal(expr, name)) Undeclared(expr, expr->name);
  }
  // "a.b.c" of nested selects of an identifier; nothing if it is something else.
  static std::optional<std::string> QualifiedName(const Expr* expr) {
    if (expr->kind == ExprKind::kIdent) return std::string(expr->name);
    if (expr->kind != ExprKind::kSelect || expr->test_only) return std::nullopt;
    auto prefix = QualifiedName(expr->operand);
    if (prefix) *prefix += "." + std::string(expr->name);
    return prefix;
  }
  void CheckSelect(Expr* expr) {
    if (!expr->test_only && ResolveQualified(expr)) return;
    const Type* type = CheckField(expr, expr->operand, expr->name, expr->offset, false);
    expr->type = expr->test_only ? &types::kBool : unifier_.Resolve(type, false);
  }
  // A type or variable whose name has dots in it.
  bool ResolveQualified(Expr* expr) {
    const auto name = QualifiedName(expr);
    if (!name) return false;
    const std::string_view first = std::string_view(*name).substr(0, name->find('.', 1));
    if (!first.starts_with('.') && FindLocal(first)) return false;
    const bool rooted = name->starts_with('.');
    if (!ResolveGlobal(expr, rooted ? std::string_view(*name).substr(1) : std::string_view(*name)))
      return false;
    expr->kind = ExprKind::kIdent;
    expr->name = ast_.Keep(*name);
    expr->operand = nullptr;
    return true;
  }
  const Type* CheckField(Expr* expr, Expr* operand, std::string_view field, std::uint32_t offset,
                         bool optional) {
    Check(operand);
    const Type* target = unifier_.Resolve(operand->type, false);
    const bool was_optional = target->IsOptional();
    if (was_optional) target = target->params[0];
    const Type* result = &types::kError;
    switch (target->kind) {
      case TypeKind::kMap:
        result = target->params[1];
        break;
      case TypeKind::kStruct:
        result = FieldType(*target, field, offset);
        break;
      case TypeKind::kTypeParam:
        unifier_.Assignable(&types::kDyn, target);
        result = &types::kDyn;
        break;
      default:
        if (!target->IsDyn() && !target->IsError())
          Report(expr, "type '" + target->Format() + "' does not support field selection");
        result = &types::kDyn;
    }
    return was_optional || optional ? ast_.types().Optional(result) : result;
  }
  const Type* FieldType(const Type& type, std::string_view field, std::uint32_t offset) {
    if (!type.object) {
      if (environment_.mutation() && IsPatchType(type.name)) return PatchField(type.name, field);
      ReportAt(offset, "unexpected failed resolution of '" + type.name + "'");
      return &types::kError;
    }
    const DeclField* found = type.object->Find(field);
    // Words that CEL reserves may be said as they are after a dot.
    if (!found && IsReservedWord(field)) found = type.object->Find("__" + std::string(field) + "__");
    if (!found) {
      ReportAt(offset, "undefined field '" + std::string(field) + "'");
      return &types::kError;
    }
    return found->type->type;
  }
  // Of JSONPatch{} and Object{}, whose fields are not known.
  static const Type* PatchField(std::string_view type, std::string_view field) {
    if (type == "JSONPatch" && field != "value") return &types::kString;
    return &types::kDyn;
  }
  static bool IsPatchType(std::string_view name) {
    return name == "JSONPatch" || name == "Object" || name.starts_with("Object.");
  }

  void CheckCall(Expr* expr) {
    if (expr->name == "_?._") return CheckOptionalSelect(expr);
    for (Expr* arg : expr->args) Check(arg);
    if (!expr->is_member) {
      const std::string_view name = expr->name.starts_with('.') ? expr->name.substr(1) : expr->name;
      const FunctionDecl* function = environment_.FindFunction(name);
      if (!function) return Undeclared(expr, expr->name);
      expr->name = function->name;
      return ResolveOverload(expr, *function);
    }
    // a.b.f() may be the function a.b.f.
    if (const auto prefix = QualifiedName(expr->operand)) {
      const std::string name =
          (prefix->starts_with('.') ? prefix->substr(1) : *prefix) + "." + std::string(expr->name);
      if (const FunctionDecl* function = environment_.FindFunction(name)) {
        expr->is_member = false;
        expr->operand = nullptr;
        expr->name = function->name;
        return ResolveOverload(expr, *function);
      }
    }
    Check(expr->operand);
    const FunctionDecl* function = environment_.FindFunction(expr->name);
    if (!function) return Undeclared(expr, expr->name);
    ResolveOverload(expr, *function);
  }
  void CheckOptionalSelect(Expr* expr) {
    const FunctionDecl* function = environment_.FindFunction("_?._");
    const Type* type = CheckField(expr, expr->args[0], expr->args[1]->literal.text(), expr->offset, true);
    expr->args[1]->type = &types::kString;
    expr->type = unifier_.Resolve(type, false);
    expr->function = function;
    expr->overloads = {&function->overloads[0]};
  }
  void ResolveOverload(Expr* expr, const FunctionDecl& function) {
    expr->function = &function;
    std::vector<const Type*> args;
    if (expr->is_member) args.push_back(expr->operand->type);
    for (const Expr* arg : expr->args) args.push_back(arg->type);
    if (function.name == "_&&_" || function.name == "_||_") return CheckLogical(expr, function);
    const Type* result = nullptr;
    for (const Overload& overload : function.overloads) {
      if (overload.member != expr->is_member) continue;
      std::vector<const Type*> fresh, wanted;
      for (std::size_t i = 0; i < overload.params.size(); ++i) fresh.push_back(unifier_.NewVariable());
      for (const Type* arg : overload.args)
        wanted.push_back(unifier_.Instantiate(arg, overload.params, fresh));
      if (!unifier_.AssignableAll(args, wanted)) continue;
      expr->overloads.push_back(&overload);
      const Type* type =
          unifier_.Resolve(unifier_.Instantiate(overload.result, overload.params, fresh), false);
      if (!result)
        result = type;
      else if (!result->IsDyn() && !type->Same(*result, true))
        result = &types::kDyn;
    }
    expr->type = result ? result : &types::kError;
    if (!result) NoOverload(expr, function, args);
  }
  void NoOverload(const Expr* expr, const FunctionDecl& function, const std::vector<const Type*>& args) {
    std::string signature;
    std::size_t first = 0;
    if (expr->is_member) signature = unifier_.Resolve(args[first++], true)->Format() + ".";
    signature += "(";
    for (std::size_t i = first; i < args.size(); ++i)
      signature += (i > first ? ", " : "") + unifier_.Resolve(args[i], true)->Format();
    Report(expr, "found no matching overload for '" + function.name + "' applied to '" + signature + ")'");
  }
  void CheckLogical(Expr* expr, const FunctionDecl& function) {
    bool fine = true;
    for (const Expr* arg : expr->args)
      if (!unifier_.Assignable(arg->type, &types::kBool)) {
        Mismatch(arg, &types::kBool, arg->type);
        fine = false;
      }
    expr->overloads = {&function.overloads[0]};
    expr->type = fine ? &types::kBool : &types::kError;
  }

  // Elements of different types make a list of dyn here; CheckLiterals refuses them where they are not
  // wanted.
  const Type* Join(const Type* previous, const Type* current) {
    if (!previous) return current;
    if (unifier_.Assignable(previous, current)) return Unifier::MoreGeneral(previous, current);
    return &types::kDyn;
  }
  // The type within an optional element or entry.
  const Type* Unwrapped(const Expr* expr) {
    if (expr->type->IsOptional()) return expr->type->params[0];
    if (!expr->type->IsDyn()) Mismatch(expr, ast_.types().Optional(expr->type), expr->type);
    return expr->type;
  }
  void CheckList(Expr* expr) {
    const Type* element = nullptr;
    for (std::size_t i = 0; i < expr->args.size(); ++i) {
      Expr* arg = expr->args[i];
      Check(arg);
      element = Join(element, expr->IsOptional(i) ? Unwrapped(arg) : arg->type);
    }
    expr->type = ast_.types().List(element ? element : unifier_.NewVariable());
  }
  void CheckMap(Expr* expr) {
    const Type *key = nullptr, *value = nullptr;
    for (std::size_t i = 0; i < expr->args.size(); i += 2) {
      Expr *k = expr->args[i], *v = expr->args[i + 1];
      Check(k);
      key = Join(key, k->type);
      Check(v);
      value = Join(value, expr->IsOptional(i / 2) ? Unwrapped(v) : v->type);
    }
    if (!key) {
      key = unifier_.NewVariable();
      value = unifier_.NewVariable();
    }
    expr->type = ast_.types().Map(key, value);
  }
  void CheckStruct(Expr* expr) {
    const std::string_view name = expr->name.starts_with('.') ? expr->name.substr(1) : expr->name;
    const bool patch = environment_.mutation() && IsPatchType(name);
    const Type* type =
        patch ? ast_.types().Struct(std::string(name), nullptr) : environment_.FindMessage(name);
    if (!type) {
      const Type* plain = environment_.FindType(name);
      if (!plain) return Undeclared(expr, expr->name);
      Report(expr, "'" + plain->name + "' is not a message type");
      type = &types::kError;
    }
    expr->name = name;
    expr->type = type;
    for (std::size_t i = 0; i < expr->args.size(); ++i) {
      Expr* value = expr->args[i];
      Check(value);
      if (type->IsError()) continue;
      const Type* field = patch ? PatchField(name, expr->field_names[i])
                                : environment_.FindMessageField(name, expr->field_names[i]);
      if (!field) {
        ReportAt(expr->entry_offsets[i], "undefined field '" + std::string(expr->field_names[i]) + "'");
        continue;
      }
      const Type* given = expr->IsOptional(i) ? Unwrapped(value) : value->type;
      if (!unifier_.Assignable(field, given))
        ReportAt(expr->entry_offsets[i], "expected type of field '" + std::string(expr->field_names[i]) +
                                             "' is '" + field->Format() + "' but provided type is '" +
                                             given->Format() + "'");
    }
  }
  void CheckComprehension(Expr* expr) {
    const Comprehension& c = *expr->comprehension;
    Check(c.range);
    Check(c.init);
    const Type* range = unifier_.Resolve(c.range->type, false);
    const Type* accu = c.init->type;
    const std::size_t outer = locals_.size();
    locals_.push_back({c.accu_var, accu});
    const Type *first = &types::kDyn, *second = &types::kDyn;
    switch (range->kind) {
      case TypeKind::kList:
        first = c.iter_var2.empty() ? range->params[0] : &types::kInt;
        second = range->params[0];
        break;
      case TypeKind::kMap:
        first = range->params[0];
        second = range->params[1];
        break;
      case TypeKind::kDyn:
      case TypeKind::kError:
      case TypeKind::kTypeParam:
        unifier_.Assignable(&types::kDyn, range);
        break;
      default:
        Report(c.range, "expression of type '" + range->Format() +
                            "' cannot be range of a comprehension (must be list, map, or dynamic)");
        first = second = &types::kError;
    }
    locals_.push_back({c.iter_var, first});
    if (!c.iter_var2.empty()) locals_.push_back({c.iter_var2, second});
    Check(c.condition);
    AssertType(c.condition, &types::kBool);
    Check(c.step);
    AssertType(c.step, accu);
    locals_.resize(outer + 1);
    Check(c.result);
    locals_.resize(outer);
    expr->type = unifier_.Resolve(c.result->type, false);
  }
  void AssertType(const Expr* expr, const Type* type) {
    if (!unifier_.Assignable(type, expr->type)) Mismatch(expr, type, expr->type);
  }

  Ast& ast_;
  const Environment& environment_;
  const std::vector<VariableDecl>& variables_;
  std::vector<Issue>& issues_;
  Unifier unifier_;
  std::vector<Local> locals_;
};

}  // namespace

void CheckTypes(Ast& ast, const Environment& environment, const std::vector<VariableDecl>& variables,
                std::vector<Issue>& issues) {
  Checker(ast, environment, variables, issues).Run();
}

}  // namespace flyball::cel
