#include "cel/expression.h"

#include <algorithm>

#include "cel/syntax/parser.h"

namespace flyball::cel {
namespace {

std::vector<std::string> OverloadIds(Ast& ast) {
  std::vector<std::string> ids;
  for (const Expr& expr : ast.nodes())
    for (const Overload* overload : expr.overloads) ids.push_back(overload->id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool IsVariable(const Expr* expr, std::string_view name) {
  return expr && expr->kind == ExprKind::kIdent && expr->name == name;
}

}  // namespace

bool SelectsField(std::string_view text, const Environment& environment, std::string_view variable,
                  std::string_view field) {
  std::vector<Issue> issues;
  const std::unique_ptr<Ast> ast = ParseExpression(text, environment.parser(), issues);
  if (!ast) return false;
  for (const Expr& expr : ast->nodes()) {
    if (expr.kind == ExprKind::kSelect && IsVariable(expr.operand, variable) && expr.name == field)
      return true;
    if (expr.kind == ExprKind::kCall && expr.name == "_?._" && expr.args.size() == 2 &&
        IsVariable(expr.args[0], variable) && expr.args[1]->kind == ExprKind::kLiteral &&
        expr.args[1]->literal.Is(ValueKind::kString) && expr.args[1]->literal.text() == field)
      return true;
  }
  return false;
}

CompileResult Compile(std::string_view text, const CompileOptions& options) {
  CompileResult result;
  std::vector<Issue> issues;
  const Source source(text);
  const auto fail = [&](CompilePhase phase) {
    result.phase = phase;
    result.error = source.Describe(std::move(issues));
    return std::move(result);
  };
  ParserOptions syntax = options.environment->parser();
  syntax.bind = options.bind;
  std::unique_ptr<Ast> ast = ParseExpression(text, syntax, issues);
  if (!ast) return fail(CompilePhase::kParse);
  CheckTypes(*ast, *options.environment, options.variables, issues);
  if (issues.empty()) CheckLiterals(*ast, *options.environment, issues);
  if (!issues.empty()) return fail(CompilePhase::kCheck);
  result.type_text = ast->root->type->ToString();
  result.type_kind = ast->root->type->kind;
  if (options.types) result.type = options.types->Copy(*ast->root->type);
  result.cost = EstimateCost(*ast, options.root);
  result.overloads = OverloadIds(*ast);
  std::vector<std::string> names;
  for (const VariableDecl& variable : options.variables) names.push_back(variable.name);
  auto program = Program::Build(*ast, names, &result.error);
  if (!program) {
    result.phase = CompilePhase::kProgram;
    return result;
  }
  auto expression = std::make_unique<Expression>();
  expression->program_ = std::move(program);
  expression->type_kind_ = result.type_kind;
  expression->nullable_ = ast->root->type->nullable;
  expression->type_text_ = result.type_text;
  expression->cost_ = result.cost;
  result.expression = std::move(expression);
  return result;
}

}  // namespace flyball::cel
