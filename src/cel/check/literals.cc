#include <string>

#include "cel/check/checker.h"
#include "cel/formats/regex.h"
#include "cel/library/string_format.h"

namespace flyball::cel {
namespace {

class LiteralChecker {
 public:
  LiteralChecker(const Environment& environment, std::vector<Issue>& issues)
      : environment_(environment), issues_(issues) {}

  void Visit(const Expr* expr, bool in_format) {
    if (expr->kind == ExprKind::kCall) {
      in_format = in_format || expr->name == "format";
      CheckCall(expr);
    }
    if (expr->kind == ExprKind::kList && !in_format) CheckList(expr);
    if (expr->kind == ExprKind::kMap && !in_format) CheckMap(expr);
    if (expr->operand) Visit(expr->operand, in_format);
    for (const Expr* arg : expr->args) Visit(arg, in_format);
    if (!expr->comprehension) return;
    const Comprehension& c = *expr->comprehension;
    for (const Expr* part : {c.range, c.init, c.condition, c.step, c.result}) Visit(part, in_format);
  }

 private:
  void Report(const Expr* at, std::string message) { issues_.push_back({at->offset, std::move(message), 0}); }
  void Mismatch(const Expr* at, const Type* expected, const Type* found) {
    Report(at, "expected type '" + expected->Format() + "' but found '" + found->Format() + "'");
  }
  void CheckCall(const Expr* expr) {
    const bool conversion = expr->name == "duration" || expr->name == "timestamp";
    if ((conversion || expr->name == "matches") && !expr->args.empty() &&
        expr->args[0]->kind == ExprKind::kLiteral) {
      const bool fine = conversion ? Converts(expr) : IsRegex(expr->args[0]->literal);
      if (!fine) Report(expr->args[0], "invalid " + std::string(expr->name) + " argument");
    }
    if (expr->name == "format" && expr->is_member) CheckFormat(expr);
  }
  bool Converts(const Expr* call) const {
    Arena arena;
    const Value& argument = call->args[0]->literal;
    for (const Overload& overload : environment_.FindFunction(call->name)->overloads)
      if (FitsAtRunTime(arena, *overload.args[0], argument))
        return !overload.call(arena, &argument, 1).IsError();
    return false;
  }
  static bool IsRegex(const Value& pattern) {
    std::string problem;
    return !pattern.Is(ValueKind::kString) || Regex::Compile(pattern.text(), &problem);
  }

  static const Type* ElementType(const Expr* owner, std::size_t i, const Expr* element) {
    return owner->IsOptional(i) && element->type->IsOptional() ? element->type->params[0] : element->type;
  }
  void CheckList(const Expr* expr) {
    const Type* first = nullptr;
    for (std::size_t i = 0; i < expr->args.size(); ++i) {
      const Type* type = ElementType(expr, i, expr->args[i]);
      if (!first)
        first = type;
      else if (!first->Same(*type, false))
        return Mismatch(expr->args[i], first, type);
    }
  }
  void CheckMap(const Expr* expr) {
    const Type *key = nullptr, *value = nullptr;
    for (std::size_t i = 0; i < expr->args.size(); i += 2) {
      const Expr *k = expr->args[i], *v = expr->args[i + 1];
      const Type* type = ElementType(expr, i / 2, v);
      if (!key) {
        key = k->type;
        value = type;
        continue;
      }
      if (!key->Same(*k->type, false)) Mismatch(k, key, k->type);
      if (!value->Same(*type, false)) Mismatch(v, value, type);
    }
  }

  // A constant format text with its arguments in a list literal.
  void CheckFormat(const Expr* call) {
    if (call->operand->kind != ExprKind::kLiteral || !call->operand->literal.Is(ValueKind::kString) ||
        call->args.size() != 1 || call->args[0]->kind != ExprKind::kList)
      return;
    const std::string_view format = call->operand->literal.text();
    const std::vector<Expr*>& args = call->args[0]->args;
    std::size_t used = 0;
    for (std::size_t i = 0; i < format.size();) {
      if (format[i] != '%') {
        ++i;
        continue;
      }
      if (format.substr(i, 2) == "%%") {
        i += 2;
        continue;
      }
      FormatClause clause;
      std::string problem;
      if (i + 1 >= format.size()) return Report(call, "unexpected end of string");
      if (used >= args.size()) return Report(call, "index " + std::to_string(used) + " out of range");
      if (!ParseFormatClause(format.substr(i), &clause, &problem)) return Report(call, problem);
      if (const Expr* wrong = WrongFor(clause.verb, args[used]))
        return Report(wrong, FormatTypeProblem(clause.verb, wrong->type->name));
      i += clause.length;
      ++used;
    }
    if (args.size() > used)
      Report(call, "too many arguments supplied to string.format (expected " + std::to_string(used) +
                       ", got " + std::to_string(args.size()) + ")");
  }
  static bool IsOneOf(const Expr* expr, std::initializer_list<TypeKind> kinds) {
    if (expr->type->kind == TypeKind::kDyn) return true;
    for (TypeKind kind : kinds)
      if (expr->type->kind == kind) return true;
    return false;
  }
  // The part of an argument that the verb cannot show; null if there is none.
  static const Expr* WrongFor(char verb, const Expr* arg) {
    using K = TypeKind;
    bool fine = true;
    switch (verb) {
      case 'd':
      case 'o':
        fine = IsOneOf(arg, {K::kInt, K::kUint});
        break;
      case 'f':
      case 'e':
        fine = IsOneOf(arg, {K::kDouble, K::kString});
        break;
      case 'b':
        fine = IsOneOf(arg, {K::kInt, K::kUint, K::kBool});
        break;
      case 'x':
      case 'X':
        fine = IsOneOf(arg, {K::kInt, K::kUint, K::kString, K::kBytes});
        break;
      default:
        return WrongForText(arg);
    }
    return fine ? nullptr : arg;
  }
  static const Expr* WrongForText(const Expr* arg) {
    using K = TypeKind;
    if (!IsOneOf(arg, {K::kList, K::kMap, K::kInt, K::kUint, K::kDouble, K::kBool, K::kString, K::kTimestamp,
                       K::kBytes, K::kDuration, K::kType, K::kNull}))
      return arg;
    if (arg->kind != ExprKind::kList && arg->kind != ExprKind::kMap) return nullptr;
    for (const Expr* part : arg->args)
      if (const Expr* wrong = WrongForText(part)) return wrong;
    return nullptr;
  }

  const Environment& environment_;
  std::vector<Issue>& issues_;
};

}  // namespace

void CheckLiterals(const Ast& ast, const Environment& environment, std::vector<Issue>& issues) {
  if (environment.checks_literals()) LiteralChecker(environment, issues).Visit(ast.root, false);
}

}  // namespace flyball::cel
