#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "cel/eval/call.h"
#include "cel/eval/program.h"
#include "cel/schema/decl_type.h"

namespace flyball::cel {
namespace {

struct PlanFailed {
  std::string message;
};

bool IsConversion(std::string_view name) {
  for (std::string_view conversion :
       {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
    if (name == conversion) return true;
  return false;
}

bool IsQualifierKind(ValueKind kind) {
  return kind == ValueKind::kString || kind == ValueKind::kInt || kind == ValueKind::kUint ||
         kind == ValueKind::kBool || kind == ValueKind::kDouble;
}

}  // namespace

// Calls what an overload or a function does; shared by the planner, which folds constants, and the
// interpreter.
Value CallFunction(Arena& arena, const FunctionDecl& function, const Overload* overload, const Value* args,
                   std::size_t count) {
  const auto fits = [&](const Overload& candidate) {
    if (candidate.args.size() != count) return false;
    if (!function.guards) return true;
    for (std::size_t i = 0; i < count; ++i)
      if (!FitsAtRunTime(arena, *candidate.args[i], args[i])) return false;
    return true;
  };
  if (overload)
    return fits(*overload) ? overload->call(arena, args, count)
                           : NoOverloadFor(arena, function.name, args, count);
  for (const Overload& candidate : function.overloads)
    if (candidate.call && fits(candidate)) return candidate.call(arena, args, count);
  return NoOverloadFor(arena, function.name, args, count);
}

Value CallSingleton(Arena& arena, const FunctionDecl& function, const Value* args, std::size_t count) {
  if (HasTrait(args[0], function.trait)) return function.singleton(arena, args, count);
  const ValueKind kind = args[0].kind();
  // Types with methods of their own say less.
  if (kind == ValueKind::kString || kind == ValueKind::kDuration || kind == ValueKind::kTimestamp)
    return NoSuchOverload();
  return Value::Error(arena, "no such overload: " + function.name);
}

class Planner {
 public:
  explicit Planner(Program& program) : program_(program) {}

  void Run(const Expr* root) { program_.root_ = Plan(root); }

 private:
  using Op = Program::Op;
  using Node = Program::Node;
  using Qualifier = Program::Qualifier;
  using Attribute = Program::Attribute;

  struct Local {
    std::string_view name;
    std::uint32_t slot;
    bool lazy;
    std::uint32_t init;
  };

  std::uint32_t Add(Node node) {
    program_.nodes_.push_back(node);
    return static_cast<std::uint32_t>(program_.nodes_.size() - 1);
  }
  Node& At(std::uint32_t index) { return program_.nodes_[index]; }
  bool IsConst(std::uint32_t index) const { return program_.nodes_[index].op == Op::kConst; }
  bool IsAttribute(std::uint32_t index) const {
    return program_.nodes_[index].op == Op::kAttribute || program_.nodes_[index].op == Op::kTestOnly;
  }
  std::uint32_t AddConst(const Expr* expr, const Value& value) {
    Node node{.op = Op::kConst, .id = expr->id};
    node.constant = value;
    return Add(node);
  }
  std::uint32_t AddChildren(const std::vector<std::uint32_t>& children) {
    const auto first = static_cast<std::uint32_t>(program_.children_.size());
    program_.children_.insert(program_.children_.end(), children.begin(), children.end());
    return first;
  }
  // Constants live as long as the program.
  Value Keep(const Value& value) {
    Arena& arena = program_.constants_;
    if (value.Is(ValueKind::kString)) return Value::String(arena.Copy(value.text()));
    if (value.Is(ValueKind::kBytes)) return Value::Bytes(arena.Copy(value.text()));
    return value;
  }
  // A node that upstream's cost tracker would leave on its stack within a loop.
  void Leaks() {
    if (loop_depth_ > 0) program_.traces_stack_ = true;
  }

  std::uint32_t Plan(const Expr* expr) {
    switch (expr->kind) {
      case ExprKind::kLiteral:
        return AddConst(expr, Keep(expr->literal));
      case ExprKind::kIdent:
        return PlanIdent(expr);
      case ExprKind::kSelect:
        return PlanSelect(expr);
      case ExprKind::kCall:
        return PlanCall(expr);
      case ExprKind::kList:
        return PlanList(expr);
      case ExprKind::kMap:
        return PlanMap(expr);
      case ExprKind::kStruct:
        return PlanStruct(expr);
      case ExprKind::kComprehension:
        return PlanComprehension(expr);
      case ExprKind::kUnspecified:
        break;
    }
    throw PlanFailed{"unsupported expr"};
  }

  std::uint32_t AddAttribute(Attribute attribute) {
    program_.attributes_.push_back(std::move(attribute));
    return static_cast<std::uint32_t>(program_.attributes_.size() - 1);
  }
  std::uint32_t AddAttributeNode(std::uint32_t attribute, std::int32_t id) {
    return Add({.op = Op::kAttribute, .first = attribute, .id = id});
  }
  std::uint32_t PlanIdent(const Expr* expr) {
    if (expr->target_kind == IdentTarget::kType) {
      if (!expr->type_value) throw PlanFailed{"reference to undefined type: " + std::string(expr->name)};
      return AddConst(expr, Value::TypeValue(expr->type_value));
    }
    Attribute attribute{.id = expr->id};
    if (expr->target_kind == IdentTarget::kLocal) {
      const auto it = std::find_if(locals_.rbegin(), locals_.rend(),
                                   [&](const Local& l) { return l.name == expr->name; });
      attribute.base = it->lazy ? Attribute::Base::kLazyLocal : Attribute::Base::kLocal;
      attribute.index = it->slot;
      attribute.lazy = it->init;
    } else {
      attribute.index = static_cast<std::uint32_t>(expr->variable);
      if (expr->variable < 64) program_.used_variables_ |= std::uint64_t{1} << expr->variable;
    }
    return AddAttributeNode(AddAttribute(std::move(attribute)), expr->id);
  }
  // The node whose attribute qualifiers of `operand` are added to.
  std::uint32_t AttributeFor(std::uint32_t operand) {
    if (IsAttribute(operand)) return operand;
    const std::int32_t id = At(operand).id;
    return AddAttributeNode(AddAttribute({.base = Attribute::Base::kNode, .index = operand, .id = id}), id);
  }
  void AddQualifier(std::uint32_t attribute, const Qualifier& qualifier) {
    Attribute& a = program_.attributes_[attribute];
    if (a.base == Attribute::Base::kConditional) {
      const std::uint32_t truthy = a.truthy, falsy = a.falsy;
      AddQualifier(truthy, qualifier);
      AddQualifier(falsy, qualifier);
      a.id = qualifier.id;
      return;
    }
    a.qualifiers.push_back(qualifier);
    a.id = qualifier.id;
  }
  Qualifier FieldQualifier(const Expr* operand, std::string_view name, std::int32_t id) {
    Qualifier qualifier{.id = id};
    qualifier.constant = Value::String(program_.constants_.Copy(name));
    const Type* type = operand->type->IsOptional() ? operand->type->params[0] : operand->type;
    if (type->kind != TypeKind::kStruct || !type->object) return qualifier;
    const DeclField* field = type->object->Find(name);
    if (!field && IsReservedWord(name)) field = type->object->Find("__" + std::string(name) + "__");
    const Schema* schema = field ? field->type->schema : nullptr;
    if (!schema) return qualifier;
    const auto raw = UnescapeFieldName(field->name);
    qualifier.field = schema;
    if (raw) qualifier.raw_name = program_.constants_.Copy(*raw);
    return qualifier;
  }
  std::uint32_t PlanSelect(const Expr* expr) {
    const std::uint32_t node = AttributeFor(Plan(expr->operand));
    Qualifier qualifier = FieldQualifier(expr->operand, expr->name, expr->id);
    qualifier.test_only = expr->test_only;
    AddQualifier(At(node).first, qualifier);
    At(node).id = expr->id;
    if (expr->test_only) At(node).op = Op::kTestOnly;
    return node;
  }
  std::uint32_t PlanIndex(const Expr* expr, std::uint32_t operand, std::uint32_t index, bool optional) {
    const std::uint32_t node = AttributeFor(operand);
    Qualifier qualifier{.kind = Qualifier::Kind::kConst, .optional = optional, .id = expr->id};
    if (IsConst(index)) {
      qualifier.constant = At(index).constant;
      if (!IsQualifierKind(qualifier.constant.kind()))
        throw PlanFailed{"invalid qualifier type: " + std::string(GoTypeName(qualifier.constant))};
      if (expr->name == "_?._") {
        qualifier = FieldQualifier(expr->args[0], qualifier.constant.text(), expr->id);
        qualifier.optional = true;
      }
    } else if (IsAttribute(index)) {
      qualifier.kind = Qualifier::Kind::kAttribute;
      qualifier.index = At(index).first;
    } else {
      qualifier.kind = Qualifier::Kind::kNode;
      qualifier.index = index;
    }
    AddQualifier(At(node).first, qualifier);
    At(node).id = expr->id;
    return node;
  }

  std::uint32_t PlanCall(const Expr* expr) {
    std::vector<std::uint32_t> args;
    if (expr->is_member) args.push_back(Plan(expr->operand));
    for (const Expr* arg : expr->args) args.push_back(Plan(arg));
    const std::string_view name = expr->name;
    if (name == "_&&_" || name == "_||_")
      return Add({.op = name == "_&&_" ? Op::kAnd : Op::kOr,
                  .count = 2,
                  .first = AddChildren(args),
                  .id = expr->id});
    if (name == "_?_:_") return PlanConditional(expr, args);
    if (name == "_==_" || name == "_!=_")
      return Add({.op = name == "_==_" ? Op::kEqual : Op::kNotEqual,
                  .count = 2,
                  .cost = name == "_==_" ? CostRule::kEquality : CostRule::kScanShorter,
                  .first = AddChildren(args),
                  .id = expr->id});
    if (name == "_[_]") return PlanIndex(expr, args[0], args[1], false);
    if (name == "_[?_]" || name == "_?._") return PlanIndex(expr, args[0], args[1], true);
    if (expr->is_member && args.size() == 2 && (name == "or" || name == "orValue")) {
      Leaks();
      return Add({.op = name == "or" ? Op::kOptionalOr : Op::kOptionalOrValue,
                  .count = 2,
                  .first = AddChildren(args),
                  .id = expr->id});
    }
    return PlanFunction(expr, args);
  }
  std::uint32_t PlanConditional(const Expr* expr, const std::vector<std::uint32_t>& args) {
    const auto branch = [&](std::uint32_t node) {
      if (IsAttribute(node)) return At(node).first;
      return AddAttribute({.base = Attribute::Base::kNode, .index = node, .id = At(node).id});
    };
    Attribute conditional{.base = Attribute::Base::kConditional, .index = args[0], .id = expr->id};
    conditional.truthy = branch(args[1]);
    conditional.falsy = branch(args[2]);
    return AddAttributeNode(AddAttribute(std::move(conditional)), expr->id);
  }
  std::uint32_t PlanFunction(const Expr* expr, const std::vector<std::uint32_t>& args) {
    const FunctionDecl& function = *expr->function;
    const Overload* overload = expr->overloads.size() == 1 ? expr->overloads[0] : nullptr;
    Node node{.op = function.singleton ? Op::kSingleton : Op::kCall,
              .count = static_cast<std::uint8_t>(args.size()),
              .cost = overload ? overload->cost : function.cost,
              .id = expr->id,
              .function = &function,
              .overload = overload};
    // Containment by text costs the text too, whichever overload turns out to be called.
    node.non_strict = overload && overload->non_strict;
    if (!function.singleton) node.stops_at_error = overload ? overload->stops_at_error : true;
    if (args.size() > 2) node.stops_at_error = true;
    if (IsConversion(function.name) && args.size() == 1 && IsConst(args[0]))
      return Folded(expr, node, args[0]);
    if (overload && overload->id == "in_list" && IsConst(args[1])) {
      if (const auto planned = PlanMembership(expr, args)) return *planned;
    }
    const bool regex = function.name == "matches" || function.name == "find" || function.name == "findAll";
    if (regex && args.size() >= 2 && IsConst(args[1]) && At(args[1]).constant.Is(ValueKind::kString)) {
      std::string problem;
      auto compiled = Regex::Compile(At(args[1]).constant.text(), &problem);
      if (!compiled) throw PlanFailed{problem};
      program_.regexes_.push_back(std::move(compiled));
      node.op = Op::kRegex;
      node.stops_at_error = true;
      node.constant = Value::Int(static_cast<std::int64_t>(program_.regexes_.size() - 1));
    }
    if (node.stops_at_error) Leaks();
    if (node.op == Op::kSingleton) node.shortcut = ShortcutFor(function.name);
    node.first = AddChildren(args);
    return Add(node);
  }
  static Program::Shortcut ShortcutFor(std::string_view name) {
    if (name == "_<_") return Program::Shortcut::kLess;
    if (name == "_<=_") return Program::Shortcut::kLessEquals;
    if (name == "_>_") return Program::Shortcut::kGreater;
    if (name == "_>=_") return Program::Shortcut::kGreaterEquals;
    return name == "size" ? Program::Shortcut::kSize : Program::Shortcut::kNone;
  }
  std::uint32_t Folded(const Expr* expr, const Node& node, std::uint32_t arg) {
    const Value argument = At(arg).constant;
    if (argument.IsError()) return AddConst(expr, argument);
    const Value value = node.op == Op::kSingleton
                            ? CallSingleton(program_.constants_, *node.function, &argument, 1)
                            : CallFunction(program_.constants_, *node.function, node.overload, &argument, 1);
    if (value.IsError()) throw PlanFailed{std::string(value.error())};
    return AddConst(expr, value);
  }
  // A constant list of plain values becomes a table; nothing if it cannot.
  std::optional<std::uint32_t> PlanMembership(const Expr* expr, const std::vector<std::uint32_t>& args) {
    Arena& arena = program_.constants_;
    const Value list = At(args[1]).constant;
    if (!list.Is(ValueKind::kList)) return std::nullopt;
    if (ListSize(list) == 0) return AddConst(expr, Value::Bool(false));
    auto* table = arena.New<MapTable>(arena);
    const Value yes = Value::Bool(true);
    for (std::size_t i = 0; i < ListSize(list); ++i) {
      const Value element = ListElement(arena, list, i);
      switch (element.kind()) {
        case ValueKind::kBool:
        case ValueKind::kString:
          table->Set(element, yes);
          break;
        case ValueKind::kInt:
          table->Set(element, yes);
          table->Set(Value::Double(static_cast<double>(element.as_int())), yes);
          if (element.as_int() >= 0) table->Set(Value::Uint(element.as_uint()), yes);
          break;
        case ValueKind::kUint:
          table->Set(element, yes);
          table->Set(Value::Double(static_cast<double>(element.as_uint())), yes);
          if (element.as_uint() <= static_cast<std::uint64_t>(INT64_MAX))
            table->Set(Value::Int(element.as_int()), yes);
          break;
        case ValueKind::kDouble: {
          const double d = element.as_double();
          table->Set(element, yes);
          if (d > -9223372036854775808.0 && d < 9223372036854775808.0 && d == std::trunc(d))
            table->Set(Value::Int(static_cast<std::int64_t>(d)), yes);
          if (d >= 0 && d < 18446744073709551616.0 && d == std::trunc(d))
            table->Set(Value::Uint(static_cast<std::uint64_t>(d)), yes);
          break;
        }
        default:
          return std::nullopt;
      }
    }
    Leaks();
    Node node{.op = Op::kMembership, .count = 1, .first = AddChildren({args[0]}), .id = expr->id};
    node.constant = Value::Map(table);
    return Add(node);
  }

  bool AllConst(const std::vector<std::uint32_t>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(), [this](std::uint32_t n) { return IsConst(n); });
  }
  std::uint32_t AddTable(const Expr* expr) {
    Program::Table table{
        .optional = expr->optional, .type_kind = expr->type->kind, .is_wrapper = expr->type->nullable};
    table.type_name = program_.constants_.Copy(expr->name);
    for (std::string_view field : expr->field_names) table.fields.push_back(program_.constants_.Copy(field));
    program_.tables_.push_back(std::move(table));
    return static_cast<std::uint32_t>(program_.tables_.size() - 1);
  }
  std::uint32_t PlanList(const Expr* expr) {
    std::vector<std::uint32_t> elements;
    for (const Expr* arg : expr->args) elements.push_back(Plan(arg));
    if (AllConst(elements) && expr->optional.empty()) {
      Value* values = program_.constants_.NewArray<Value>(elements.size());
      for (std::size_t i = 0; i < elements.size(); ++i) new (values + i) Value(At(elements[i]).constant);
      return AddConst(expr, Value::List(values, elements.size()));
    }
    Leaks();
    return AddAggregate(Op::kList, expr, elements);
  }
  std::uint32_t AddAggregate(Op op, const Expr* expr, const std::vector<std::uint32_t>& parts) {
    Node node{.op = op, .first = AddChildren(parts), .id = expr->id};
    // More parts than a byte counts are possible: the table has the number.
    node.constant = Value::Timestamp(AddTable(expr), static_cast<std::uint32_t>(parts.size()));
    return Add(node);
  }
  std::uint32_t PlanMap(const Expr* expr) {
    std::vector<std::uint32_t> parts;
    for (const Expr* arg : expr->args) parts.push_back(Plan(arg));
    const bool has_optional =
        std::find(expr->optional.begin(), expr->optional.end(), 1) != expr->optional.end();
    if (AllConst(parts) && !has_optional) {
      auto* table = program_.constants_.New<MapTable>(program_.constants_);
      for (std::size_t i = 0; i < parts.size(); i += 2)
        table->Set(At(parts[i]).constant, At(parts[i + 1]).constant);
      return AddConst(expr, Value::Map(table));
    }
    Leaks();
    return AddAggregate(Op::kMap, expr, parts);
  }
  std::uint32_t PlanStruct(const Expr* expr) {
    std::vector<std::uint32_t> parts;
    for (const Expr* arg : expr->args) parts.push_back(Plan(arg));
    Leaks();
    return AddAggregate(Op::kStruct, expr, parts);
  }

  std::uint32_t NewSlots(std::uint32_t count) {
    const std::uint32_t slot = next_slot_;
    next_slot_ += count;
    program_.slots_ = std::max(program_.slots_, next_slot_);
    return slot;
  }
  std::uint32_t PlanComprehension(const Expr* expr) {
    const Comprehension& c = *expr->comprehension;
    Program::Fold fold{};
    fold.lazy = c.accu_var != "@result";
    fold.init = Plan(c.init);
    fold.range = Plan(c.range);
    fold.two_variables = !c.iter_var2.empty();
    const std::uint32_t before = next_slot_;
    fold.accu_slot = NewSlots(1);
    fold.var_slot = NewSlots(fold.two_variables ? 2 : 1);
    locals_.push_back({c.accu_var, fold.accu_slot, fold.lazy, fold.init});
    const std::size_t with_accu = locals_.size();
    locals_.push_back({c.iter_var, fold.var_slot, false, 0});
    if (fold.two_variables) locals_.push_back({c.iter_var2, fold.var_slot + 1, false, 0});
    ++loop_depth_;
    fold.condition = Plan(c.condition);
    fold.step = Plan(c.step);
    --loop_depth_;
    locals_.resize(with_accu);
    fold.result = Plan(c.result);
    locals_.pop_back();
    next_slot_ = before;
    program_.folds_.push_back(fold);
    Node node{
        .op = Op::kFold, .first = static_cast<std::uint32_t>(program_.folds_.size() - 1), .id = expr->id};
    if (IsQuantifier(c)) {
      node.op = Op::kQuantifier;
      node.count = c.init->literal.IsTrue() ? 1 : 0;
      // The predicate alone: the rest is always the same.
      program_.folds_.back().step = program_.children_[At(fold.step).first + 1];
    }
    return Add(node);
  }
  static bool IsAccumulator(const Expr* expr) {
    return expr->kind == ExprKind::kIdent && expr->name == "@result";
  }
  static bool IsQuantifier(const Comprehension& c) {
    if (c.accu_var != "@result" || c.init->kind != ExprKind::kLiteral ||
        !c.init->literal.Is(ValueKind::kBool))
      return false;
    if (c.condition->kind != ExprKind::kCall || c.condition->name != "@not_strictly_false") return false;
    const std::string_view logical = c.init->literal.IsTrue() ? "_&&_" : "_||_";
    return c.step->kind == ExprKind::kCall && c.step->name == logical && IsAccumulator(c.step->args[0]) &&
           IsAccumulator(c.result);
  }

  Program& program_;
  std::vector<Local> locals_;
  std::uint32_t next_slot_ = 0;
  int loop_depth_ = 0;
};

std::unique_ptr<const Program> Program::Build(const Ast& ast, const std::vector<std::string>& variable_names,
                                              std::string* problem) {
  std::unique_ptr<Program> program(new Program);
  program->variable_names_ = variable_names;
  program->max_id_ = static_cast<std::int32_t>(ast.size());
  try {
    Planner(*program).Run(ast.root);
  } catch (const PlanFailed& failed) {
    *problem = failed.message;
    return nullptr;
  } catch (const EvaluationCancelled&) {
    *problem = "the expression's constants are too large";
    return nullptr;
  }
  return program;
}

}  // namespace flyball::cel
