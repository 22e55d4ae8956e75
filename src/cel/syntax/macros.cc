#include "cel/syntax/macros.h"

#include <algorithm>
#include <string>

namespace flyball::cel {
namespace {

constexpr std::string_view kAccumulator = "@result";

class MacroExpander {
 public:
  MacroExpander(Ast& ast, std::size_t offset, Expr* target, const std::vector<Expr*>& args,
                std::vector<Issue>& issues)
      : ast_(ast), offset_(offset), target_(target), args_(args), issues_(issues) {}

  Expr* Has() {
    if (args_[0]->kind != ExprKind::kSelect) return Fail(args_[0], "invalid argument to has() macro");
    Expr* test = New(ExprKind::kSelect);
    test->operand = args_[0]->operand;
    test->name = args_[0]->name;
    test->test_only = true;
    return test;
  }
  Expr* All() {
    if (!Variables("argument must be a simple name")) return failed_;
    return Loop(Literal(Value::Bool(true)), Call("@not_strictly_false", {Accumulator()}),
                Call("_&&_", {Accumulator(), args_.back()}), Accumulator());
  }
  Expr* Exists() {
    if (!Variables("argument must be a simple name")) return failed_;
    return Loop(Literal(Value::Bool(false)), Call("@not_strictly_false", {Call("!_", {Accumulator()})}),
                Call("_||_", {Accumulator(), args_.back()}), Accumulator());
  }
  Expr* ExistsOne() {
    if (!Variables("argument must be a simple name")) return failed_;
    Expr* counted = Call("_+_", {Accumulator(), Literal(Value::Int(1))});
    return Loop(Literal(Value::Int(0)), Literal(Value::Bool(true)),
                Call("_?_:_", {args_.back(), counted, Accumulator()}),
                Call("_==_", {Accumulator(), Literal(Value::Int(1))}));
  }
  Expr* Map(Expr* range) {
    variable_count_ = 1;
    if (!Variables("argument is not an identifier")) return failed_;
    return Collect(range, args_.size() == 3 ? args_[1] : nullptr, args_.back());
  }
  Expr* Filter() {
    variable_count_ = 1;
    if (!Variables("argument is not an identifier")) return failed_;
    return Collect(target_, args_[1], args_[0]);
  }
  Expr* TransformList() {
    if (!Variables("argument must be a simple name")) return failed_;
    return Collect(target_, args_.size() == 4 ? args_[2] : nullptr, args_.back());
  }
  Expr* TransformMap(bool entry) {
    if (!Variables("argument must be a simple name")) return failed_;
    Expr* step = entry ? Call("cel.@mapInsert", {Accumulator(), args_.back()})
                       : Call("cel.@mapInsert", {Accumulator(), Ident(names_[0]), args_.back()});
    if (args_.size() == 4) step = Call("_?_:_", {args_[2], step, Accumulator()});
    return Loop(New(ExprKind::kMap), Literal(Value::Bool(true)), step, Accumulator());
  }
  Expr* OptMap(bool flat) {
    if (args_[0]->kind != ExprKind::kIdent)
      return Fail(args_[0], std::string(flat ? "optFlatMap" : "optMap") +
                                "() variable name must be a simple identifier");
    Expr* bound = Bind(args_[0]->name, Member("value", Copy(target_), {}), args_[1]);
    return Call("_?_:_", {Member("hasValue", target_, {}), flat ? bound : Call("optional.of", {bound}),
                          Call("optional.none", {})});
  }
  Expr* BindName() {
    if (args_[0]->kind != ExprKind::kIdent)
      return Fail(args_[0], "cel.bind() variable names must be simple identifiers");
    return Bind(args_[0]->name, args_[1], args_[2]);
  }
  Expr* SortBy() {
    constexpr std::string_view kInput = "@__sortBy_input__";
    if (target_->kind == ExprKind::kLiteral || target_->kind == ExprKind::kMap ||
        target_->kind == ExprKind::kStruct)
      return Fail(
          target_,
          "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
    Expr* keys = Map(Ident(kInput));
    if (failed_) return failed_;
    return Bind(kInput, target_, Member("@sortByAssociatedKeys", Ident(kInput), {keys}));
  }

  void set_variable_count(std::size_t count) { variable_count_ = count; }

 private:
  Expr* New(ExprKind kind) { return ast_.New(kind, offset_); }
  Expr* Literal(const Value& value) {
    Expr* expr = New(ExprKind::kLiteral);
    expr->literal = value;
    return expr;
  }
  Expr* Ident(std::string_view name) {
    Expr* expr = New(ExprKind::kIdent);
    expr->name = name;
    return expr;
  }
  Expr* Accumulator() { return Ident(kAccumulator); }
  Expr* Call(std::string_view function, std::vector<Expr*> args) {
    Expr* expr = New(ExprKind::kCall);
    expr->name = function;
    expr->args = std::move(args);
    return expr;
  }
  Expr* Member(std::string_view function, Expr* target, std::vector<Expr*> args) {
    Expr* expr = Call(function, std::move(args));
    expr->is_member = true;
    expr->operand = target;
    return expr;
  }
  Expr* Fail(const Expr* at, std::string message) {
    issues_.push_back({at->offset, std::move(message), 0});
    failed_ = New(ExprKind::kUnspecified);
    return failed_;
  }
  // The names of the iteration variables; false and an issue if they are none.
  bool Variables(std::string_view problem) {
    for (std::size_t i = 0; i < variable_count_; ++i) {
      if (args_[i]->kind != ExprKind::kIdent) return Fail(args_[i], std::string(problem)), false;
      names_[i] = args_[i]->name;
    }
    if (variable_count_ == 2 && names_[0] == names_[1])
      return Fail(args_[1], "duplicate variable name: " + std::string(names_[0])), false;
    for (std::size_t i = 0; i < variable_count_; ++i)
      if (names_[i] == kAccumulator || names_[i] == "__result__")
        return Fail(args_[i], "iteration variable overwrites accumulator variable"), false;
    return true;
  }
  Expr* Comprehend(Expr* range, std::string_view var, std::string_view var2, std::string_view accu,
                   Expr* init, Expr* condition, Expr* step, Expr* result) {
    Expr* expr = New(ExprKind::kComprehension);
    expr->comprehension =
        std::make_unique<Comprehension>(Comprehension{var, var2, accu, range, init, condition, step, result});
    return expr;
  }
  Expr* Loop(Expr* init, Expr* condition, Expr* step, Expr* result) {
    return Comprehend(target_, names_[0], variable_count_ == 2 ? names_[1] : std::string_view(), kAccumulator,
                      init, condition, step, result);
  }
  Expr* Collect(Expr* range, Expr* filter, Expr* element) {
    Expr* list = New(ExprKind::kList);
    list->args = {element};
    Expr* step = Call("_+_", {Accumulator(), list});
    if (filter) step = Call("_?_:_", {filter, step, Accumulator()});
    return Comprehend(range, names_[0], variable_count_ == 2 ? names_[1] : std::string_view(), kAccumulator,
                      New(ExprKind::kList), Literal(Value::Bool(true)), step, Accumulator());
  }
  // A loop that never runs: its result is computed once, with the accumulator as a variable.
  Expr* Bind(std::string_view name, Expr* value, Expr* result) {
    return Comprehend(New(ExprKind::kList), "#unused", "", name, value, Literal(Value::Bool(false)),
                      Ident(name), result);
  }
  Expr* Copy(const Expr* from) {
    Expr* to = ast_.New(from->kind, from->offset);
    to->test_only = from->test_only;
    to->is_member = from->is_member;
    to->name = from->name;
    to->literal = from->literal;
    to->optional = from->optional;
    to->field_names = from->field_names;
    to->entry_offsets = from->entry_offsets;
    if (from->operand) to->operand = Copy(from->operand);
    for (const Expr* arg : from->args) to->args.push_back(Copy(arg));
    if (from->comprehension) {
      const Comprehension& c = *from->comprehension;
      to->comprehension = std::make_unique<Comprehension>(
          Comprehension{c.iter_var, c.iter_var2, c.accu_var, Copy(c.range), Copy(c.init), Copy(c.condition),
                        Copy(c.step), Copy(c.result)});
    }
    return to;
  }

  Ast& ast_;
  std::size_t offset_;
  Expr* target_;
  const std::vector<Expr*>& args_;
  std::vector<Issue>& issues_;
  std::string_view names_[2];
  std::size_t variable_count_ = 1;
  Expr* failed_ = nullptr;
};

// optMap copies its target: nested in itself, it would grow without bounds.
constexpr std::size_t kMaxNodes = 60'000;

}  // namespace

Expr* ExpandMacro(Ast& ast, const ParserOptions& options, std::size_t offset, std::string_view name,
                  Expr* target, const std::vector<Expr*>& args, std::vector<Issue>& issues) {
  MacroExpander expander(ast, offset, target, args, issues);
  if (ast.size() > kMaxNodes) {
    issues.push_back({Issue::kNowhere, "expression grows too large when its macros are expanded", 0});
    return ast.New(ExprKind::kUnspecified, offset);
  }
  const std::size_t count = args.size();
  if (!target) return name == "has" && count == 1 ? expander.Has() : nullptr;
  const bool two = count >= 3 && options.two_variable_macros;
  expander.set_variable_count(two ? 2 : 1);
  if (count == 2 || (count == 3 && two)) {
    if (name == "all") return expander.All();
    if (name == "exists") return expander.Exists();
    if (name == "exists_one" || (name == "existsOne" && count == 3)) return expander.ExistsOne();
  }
  if (name == "map" && (count == 2 || count == 3)) return expander.Map(target);
  if (name == "filter" && count == 2) return expander.Filter();
  if (two && (count == 3 || count == 4)) {
    if (name == "transformList") return expander.TransformList();
    if (name == "transformMap") return expander.TransformMap(false);
    if (name == "transformMapEntry") return expander.TransformMap(true);
  }
  if (options.optional_syntax && count == 2 && name == "optMap") return expander.OptMap(false);
  if (options.optional_syntax && count == 2 && name == "optFlatMap") return expander.OptMap(true);
  if (options.sort_by && count == 2 && name == "sortBy") return expander.SortBy();
  const bool of_cel = target && target->kind == ExprKind::kIdent && target->name == "cel";
  if (options.bind && of_cel && count == 3 && name == "bind") return expander.BindName();
  return nullptr;
}

}  // namespace flyball::cel
