#include <algorithm>
#include <array>
#include <string>

#include "cel/eval/call.h"
#include "cel/eval/lookup.h"
#include "cel/eval/message.h"
#include "cel/eval/program.h"
#include "cel/eval/tracker_stack.h"
#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

constexpr std::uint64_t kListCost = 10, kMapCost = 30, kStructCost = 40;
constexpr std::size_t kInlineSlots = 6, kInlineArgs = 4;

}  // namespace

class Interpreter {
 public:
  Interpreter(const Program& program, Activation& activation, Arena& arena, std::uint64_t limit)
      : program_(program), activation_(activation), arena_(arena), limit_(limit) {
    if (program.slots_ <= kInlineSlots) {
      slots_ = inline_slots_;
    } else {
      slots_ = arena.NewArray<Value>(program.slots_);
      std::uninitialized_fill_n(slots_, program.slots_, Value());
      lazy_ready_large_.resize(program.slots_);
    }
    if (program.traces_stack_) stack_.emplace(program.max_id_);
  }

  Value Run() { return Eval(program_.root_); }
  std::uint64_t cost() const { return cost_; }

 private:
  using Op = Program::Op;
  using Node = Program::Node;
  using Attribute = Program::Attribute;
  using Qualifier = Program::Qualifier;

  void Charge(std::uint64_t cost) {
    if (__builtin_add_overflow(cost_, cost, &cost_)) cost_ = UINT64_MAX;
    if (cost_ > limit_) throw EvaluationCancelled();
  }
  // As many charges of one, which are checked one by one.
  void ChargeOnes(std::uint64_t count) {
    cost_ += count;
    if (cost_ > limit_) {
      cost_ = limit_ + 1;
      throw EvaluationCancelled();
    }
  }
  const std::uint32_t* Children(const Node& node) const { return program_.children_.data() + node.first; }
  std::int32_t IdOf(std::uint32_t node) const { return program_.nodes_[node].id; }
  void Push(std::int32_t id) {
    if (stack_) stack_->Push(id);
  }
  // The charge of a call whose arguments upstream's tracker still knows.
  bool DropArguments(const std::uint32_t* children, std::size_t count) {
    if (!stack_) return true;
    for (std::size_t i = count; i-- > 0;)
      if (!stack_->Drop(IdOf(children[i]))) return false;
    return true;
  }

  Value Eval(std::uint32_t index) {
    const Node& node = program_.nodes_[index];
    if (!stack_) return EvalNode(node);
    const Value value = EvalNode(node);
    stack_->Push(node.id);
    return value;
  }
  Value EvalNode(const Node& node) {
    switch (node.op) {
      case Op::kConst:
        return node.constant;
      case Op::kAttribute:
        return EvalAttribute(node);
      case Op::kTestOnly:
        return EvalTestOnly(node);
      case Op::kAnd:
      case Op::kOr:
        return EvalLogical(node);
      case Op::kEqual:
      case Op::kNotEqual:
        return EvalEquality(node);
      case Op::kCall:
      case Op::kSingleton:
      case Op::kRegex:
        return EvalCall(node);
      case Op::kList:
        return EvalList(node);
      case Op::kMap:
        return EvalMap(node);
      case Op::kStruct:
        return EvalStruct(node);
      case Op::kFold:
        return EvalFold(node);
      case Op::kQuantifier:
        return EvalQuantifier(node);
      case Op::kMembership:
        return EvalMembership(node);
      case Op::kOptionalOr:
      case Op::kOptionalOrValue:
        return EvalOptionalOr(node);
    }
    return {};
  }

  Value EvalAttribute(const Node& node) {
    const Attribute& attribute = program_.attributes_[node.first];
    const Value value = Resolve(attribute);
    if (attribute.base == Attribute::Base::kConditional) {
      if (stack_) {
        stack_->Drop(program_.attributes_[attribute.falsy].id);
        stack_->Drop(program_.attributes_[attribute.truthy].id);
        stack_->Drop(IdOf(attribute.index));
      }
    } else {
      if (stack_) stack_->Drop(attribute.id);
      ChargeOnes(1);
    }
    return value;
  }
  Value EvalTestOnly(const Node& node) {
    const Attribute& attribute = program_.attributes_[node.first];
    const Value value = Resolve(attribute);
    // A test is charged like any attribute, and given that back.
    if (attribute.base == Attribute::Base::kConditional) {
      if (cost_ > 0) --cost_;
    } else if (stack_) {
      stack_->Drop(attribute.id);
    }
    if (value.Is(ValueKind::kOptional)) return Value::Bool(value.optional() != nullptr);
    return value;
  }
  Value Resolve(const Attribute& attribute) {
    Value value;
    switch (attribute.base) {
      case Attribute::Base::kVariable:
        if (!activation_.Find(static_cast<int>(attribute.index), &value))
          return Value::Error(arena_, "no such attribute(s): " + program_.variable_names_[attribute.index]);
        break;
      case Attribute::Base::kLocal:
        value = slots_[attribute.index];
        break;
      case Attribute::Base::kLazyLocal:
        value = LazyLocal(attribute);
        break;
      case Attribute::Base::kNode:
        value = Eval(attribute.index);
        break;
      case Attribute::Base::kConditional: {
        const Value condition = Eval(attribute.index);
        if (condition.IsTrue()) return Resolve(program_.attributes_[attribute.truthy]);
        if (condition.IsFalse()) return Resolve(program_.attributes_[attribute.falsy]);
        return condition.IsError() ? condition : NoSuchOverload();
      }
    }
    if (attribute.qualifiers.empty() || value.IsError()) return value;
    return ApplyQualifiers(attribute.qualifiers, value);
  }
  char& LazyReady(std::uint32_t slot) {
    return program_.slots_ <= kInlineSlots ? lazy_ready_[slot] : lazy_ready_large_[slot];
  }
  Value LazyLocal(const Attribute& attribute) {
    if (!LazyReady(attribute.index)) {
      LazyReady(attribute.index) = true;
      slots_[attribute.index] = Accumulating(Eval(attribute.lazy));
    }
    return slots_[attribute.index];
  }
  Value ApplyQualifiers(const std::vector<Qualifier>& qualifiers, Value value) {
    bool optional = value.Is(ValueKind::kOptional);
    if (optional) {
      if (!value.optional()) return value;
      value = *value.optional();
    }
    for (const Qualifier& qualifier : qualifiers) {
      optional = optional || qualifier.optional;
      bool present = true;
      const Value next = Qualify(qualifier, value, optional || qualifier.test_only, &present);
      const bool tests = qualifier.test_only && !optional;
      if (next.IsError() || present || tests) {
        ChargeOnes(1);
        Push(qualifier.id);
      }
      if (next.IsError()) return next;
      if (tests) {
        value = Value::Bool(present);
      } else if (!present) {
        return Value::None();
      } else {
        value = next;
      }
    }
    return optional ? Value::Some(arena_, value) : value;
  }
  // The field, entry or element. `may_be_absent`: then absence is no error.
  Value Qualify(const Qualifier& qualifier, const Value& value, bool may_be_absent, bool* present) {
    switch (qualifier.kind) {
      case Qualifier::Kind::kField:
        if (qualifier.field && value.Is(ValueKind::kMap) && value.schema())
          return TypedField(qualifier, value, may_be_absent, present);
        [[fallthrough]];
      case Qualifier::Kind::kConst:
        return Lookup(arena_, value, qualifier.constant, may_be_absent, present);
      case Qualifier::Kind::kAttribute:
      case Qualifier::Kind::kNode: {
        const Value key = qualifier.kind == Qualifier::Kind::kNode
                              ? Eval(qualifier.index)
                              : Resolve(program_.attributes_[qualifier.index]);
        if (key.IsError()) return key;
        switch (key.kind()) {
          case ValueKind::kString:
          case ValueKind::kInt:
          case ValueKind::kUint:
          case ValueKind::kBool:
          case ValueKind::kDouble:
            return Lookup(arena_, value, key, may_be_absent, present);
          default:
            return Value::Error(arena_, "invalid qualifier type: " + std::string(GoTypeName(key)));
        }
      }
    }
    return {};
  }
  Value TypedField(const Qualifier& qualifier, const Value& value, bool may_be_absent, bool* present) {
    const json::Value* field = value.json_map().Find(qualifier.raw_name);
    if (field && !field->is_null()) return FromJson(arena_, *field, qualifier.field);
    *present = false;
    return may_be_absent ? Value() : MissingKey(arena_, qualifier.constant);
  }
  Value EvalLogical(const Node& node) {
    const bool decides = node.op == Op::kOr;
    const std::uint32_t* children = Children(node);
    Value error;
    bool failed = false;
    for (std::size_t i = 0; i < 2; ++i) {
      const Value term = Eval(children[i]);
      if (term.Is(ValueKind::kBool)) {
        if (term.as_bool() == decides) {
          failed = false;
          error = term;
          break;
        }
      } else if (!failed) {
        failed = true;
        error = term.IsError() ? term : NoSuchOverload();
      }
    }
    if (stack_)
      for (std::size_t i = 0; i < 2; ++i) stack_->Drop(IdOf(children[i]));
    if (error.Is(ValueKind::kBool) || failed) return error;
    return Value::Bool(!decides);
  }
  Value EvalEquality(const Node& node) {
    const std::uint32_t* children = Children(node);
    Value args[2];
    args[0] = Eval(children[0]);
    args[1] = Eval(children[1]);
    Value result;
    if (args[0].IsError())
      result = args[0];
    else if (args[1].IsError())
      result = args[1];
    else {
      result = EqualValues(arena_, args[0], args[1]);
      if (node.op == Op::kNotEqual) result = Value::Bool(!result.IsTrue());
    }
    if (DropArguments(children, 2)) Charge(CallCostOf(arena_, node.cost, nullptr, args, 2, result));
    return result;
  }
  // Comparisons of integers and sizes of texts and lists; everything else goes the general way with the
  // arguments that are evaluated already.
  Value EvalShortcut(const Node& node) {
    const std::uint32_t* children = Children(node);
    if (node.shortcut == Program::Shortcut::kSize) {
      const Value text = Eval(children[0]);
      if (!text.Is(ValueKind::kString) && !text.Is(ValueKind::kList)) return EvalSlowly(node, &text);
      ChargeOne(node, children);
      return Value::Int(static_cast<std::int64_t>(CostSize(text)));
    }
    const Value args[2] = {Eval(children[0]), Eval(children[1])};
    if (!args[0].Is(ValueKind::kInt) || !args[1].Is(ValueKind::kInt)) return EvalSlowly(node, args);
    ChargeOne(node, children);
    const std::int64_t a = args[0].as_int(), b = args[1].as_int();
    switch (node.shortcut) {
      case Program::Shortcut::kLess:
        return Value::Bool(a < b);
      case Program::Shortcut::kLessEquals:
        return Value::Bool(a <= b);
      case Program::Shortcut::kGreater:
        return Value::Bool(a > b);
      default:
        return Value::Bool(a >= b);
    }
  }
  void ChargeOne(const Node& node, const std::uint32_t* children) {
    if (DropArguments(children, node.count)) ChargeOnes(1);
  }
  Value EvalSlowly(const Node& node, const Value* args) {
    const std::uint32_t* children = Children(node);
    for (std::size_t i = 0; i < node.count; ++i)
      if (args[i].IsError()) return Charged(node, children, args, args[i]);
    return Charged(node, children, args, CallSingleton(arena_, *node.function, args, node.count));
  }
  Value Charged(const Node& node, const std::uint32_t* children, const Value* args, const Value& result) {
    if (!DropArguments(children, node.count)) return result;
    if (node.cost == CostRule::kOne)
      ChargeOnes(1);
    else
      Charge(CallCostOf(arena_, node.cost, node.overload, args, node.count, result));
    return result;
  }
  Value EvalCall(const Node& node) {
    if (node.shortcut != Program::Shortcut::kNone) return EvalShortcut(node);
    const std::uint32_t* children = Children(node);
    std::array<Value, kInlineArgs> few;
    std::vector<Value> many;
    Value* args = few.data();
    if (node.count > kInlineArgs) {
      many.resize(node.count);
      args = many.data();
    }
    const Value* error = nullptr;
    for (std::size_t i = 0; i < node.count; ++i) {
      args[i] = Eval(children[i]);
      if (!args[i].IsError() || node.non_strict) continue;
      // Upstream's tracker does not find the arguments that were not evaluated.
      if (node.stops_at_error && i + 1 < node.count) {
        DropArguments(children, node.count);
        return args[i];
      }
      if (!error) error = &args[i];
    }
    return Charged(node, children, args, error ? *error : Call(node, args));
  }
  Value Call(const Node& node, const Value* args) {
    if (node.op == Op::kRegex) return CallRegex(node, args);
    if (node.op == Op::kSingleton) return CallSingleton(arena_, *node.function, args, node.count);
    return CallFunction(arena_, *node.function, node.overload, args, node.count);
  }
  Value CallRegex(const Node& node, const Value* args) {
    if (!args[0].Is(ValueKind::kString)) return NoSuchOverload();
    const Regex& regex = *program_.regexes_[static_cast<std::size_t>(node.constant.as_int())];
    const std::string& name = node.function->name;
    if (name == "matches") return Value::Bool(regex.Matches(args[0].text()));
    if (name == "find") return Value::String(regex.Find(args[0].text()));
    std::int64_t limit = -1;
    if (node.count == 3) {
      if (!args[2].Is(ValueKind::kInt)) return NoSuchOverload();
      limit = args[2].as_int();
    }
    GrowingList list(arena_);
    for (std::string_view match : regex.FindAll(args[0].text(), limit)) list.Append(Value::String(match));
    return Value::List(list.elements, list.size);
  }
  Value EvalMembership(const Node& node) {
    const Value value = Eval(Children(node)[0]);
    if (value.IsError()) return value;
    // Only what was put into the table counts as equal.
    const Value* found = node.constant.map_table().Find(value);
    return Value::Bool(found != nullptr);
  }
  Value EvalOptionalOr(const Node& node) {
    const std::uint32_t* children = Children(node);
    const Value first = Eval(children[0]);
    if (first.IsError()) return first;
    if (!first.Is(ValueKind::kOptional)) return NoSuchOverload();
    if (!first.optional()) return Eval(children[1]);
    return node.op == Op::kOptionalOr ? first : *first.optional();
  }

  std::size_t PartCount(const Node& node) const { return node.constant.nanoseconds(); }
  const Program::Table& TableOf(const Node& node) const {
    return program_.tables_[static_cast<std::size_t>(node.constant.as_int())];
  }
  Value EvalList(const Node& node) {
    const Value list = BuildList(node);
    DropArguments(Children(node), PartCount(node));
    Charge(kListCost);
    return list;
  }
  Value BuildList(const Node& node) {
    const std::size_t count = PartCount(node);
    const std::vector<std::uint8_t>& optional = TableOf(node).optional;
    Value* elements = arena_.NewArray<Value>(count);
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Value element = Eval(Children(node)[i]);
      if (element.IsError()) return element;
      if (i < optional.size() && optional[i]) {
        if (!element.Is(ValueKind::kOptional))
          return Value::Error(arena_, "cannot initialize optional list element from non-optional value " +
                                          DisplayText(arena_, element));
        if (!element.optional()) continue;
        element = *element.optional();
      }
      new (elements + size++) Value(element);
    }
    return Value::List(elements, size);
  }
  Value EvalMap(const Node& node) {
    const Value map = BuildMap(node);
    DropArguments(Children(node), PartCount(node));
    Charge(kMapCost);
    return map;
  }
  Value BuildMap(const Node& node) {
    const std::vector<std::uint8_t>& optional = TableOf(node).optional;
    auto* table = arena_.New<MapTable>(arena_);
    for (std::size_t i = 0; i < PartCount(node); i += 2) {
      const Value key = Eval(Children(node)[i]);
      if (key.IsError()) return key;
      Value value = Eval(Children(node)[i + 1]);
      if (value.IsError()) return value;
      if (key.Is(ValueKind::kBytes))
        return Value::Error(arena_, "internal error: runtime error: hash of unhashable type types.Bytes");
      if (i / 2 < optional.size() && optional[i / 2]) {
        if (!value.Is(ValueKind::kOptional)) return NotOptional(DisplayText(arena_, key), value);
        if (!value.optional()) {
          table->Erase(key);
          continue;
        }
        value = *value.optional();
      }
      table->Set(key, value);
    }
    return Value::Map(table);
  }
  Value NotOptional(const std::string& entry, const Value& value) {
    return Value::Error(arena_, "cannot initialize optional entry '" + entry + "' from non-optional value " +
                                    DisplayText(arena_, value));
  }
  Value EvalStruct(const Node& node) {
    const Value value = BuildStruct(node);
    DropArguments(Children(node), PartCount(node));
    Charge(kStructCost);
    return value;
  }
  Value BuildStruct(const Node& node) {
    const Program::Table& table = TableOf(node);
    auto* fields = arena_.New<MapTable>(arena_);
    for (std::size_t i = 0; i < PartCount(node); ++i) {
      Value value = Eval(Children(node)[i]);
      if (value.IsError()) return value;
      if (i < table.optional.size() && table.optional[i]) {
        if (!value.Is(ValueKind::kOptional)) return NotOptional(std::string(table.fields[i]), value);
        if (!value.optional()) continue;
        value = *value.optional();
      }
      fields->Set(Value::String(table.fields[i]), value);
    }
    return MakeMessage(arena_, {table.type_name, table.type_kind, table.is_wrapper}, *fields);
  }
  // An empty list or map that a comprehension begins with is one it can add to in place.
  Value Accumulating(const Value& initial) {
    if (initial.Is(ValueKind::kList) && ListSize(initial) == 0)
      return Value::Growing(arena_.New<GrowingList>(arena_));
    if (initial.Is(ValueKind::kMap) && MapSize(initial) == 0)
      return Value::GrowingMap(arena_.New<MapTable>(arena_));
    return initial;
  }
  static Value Finished(const Value& value) {
    if (value.holding() != Holding::kGrowing) return value;
    if (value.Is(ValueKind::kList))
      return Value::List(value.growing_list().elements, value.growing_list().size);
    return value.Is(ValueKind::kMap) ? Value::Map(&value.growing_map()) : value;
  }
  Value NotIterable(const Program::Fold& fold, const Value& range) {
    if (fold.two_variables)
      return Value::Error(arena_, "unsupported comprehension range type: " + std::string(GoTypeName(range)));
    return Value::Error(arena_, "got '" + std::string(GoTypeName(range)) + "', expected iterable type");
  }
  // Calls visit() for each element with the loop's variables set, until it returns false.
  template <typename Visit>
  void Iterate(const Program::Fold& fold, const Value& range, Visit&& visit) {
    Value* variables = slots_ + fold.var_slot;
    if (range.Is(ValueKind::kList)) {
      for (std::size_t i = 0, size = ListSize(range); i < size; ++i) {
        const Value element = ListElement(arena_, range, i);
        variables[0] = fold.two_variables ? Value::Int(static_cast<std::int64_t>(i)) : element;
        if (fold.two_variables) variables[1] = element;
        if (!visit()) return;
      }
      return;
    }
    ForEachEntry(arena_, range, fold.two_variables, [&](const Value& key, const Value& value) {
      variables[0] = key;
      if (fold.two_variables) variables[1] = value;
      return visit();
    });
  }
  Value EvalFold(const Node& node) {
    const Program::Fold& fold = program_.folds_[node.first];
    const Value range = Eval(fold.range);
    if (range.IsError()) return range;
    if (!range.Is(ValueKind::kList) && !range.Is(ValueKind::kMap)) return NotIterable(fold, range);
    if (fold.lazy) {
      const char was_ready = LazyReady(fold.accu_slot);
      const Value previous = slots_[fold.accu_slot];
      LazyReady(fold.accu_slot) = false;
      const Value result = Finished(Eval(fold.result));
      LazyReady(fold.accu_slot) = was_ready;
      slots_[fold.accu_slot] = previous;
      if (stack_) stack_->Drop(IdOf(fold.range));
      return result;
    }
    slots_[fold.accu_slot] = Accumulating(Eval(fold.init));
    Iterate(fold, range, [&] {
      const Value condition = Eval(fold.condition);
      if (condition.IsFalse()) return false;
      slots_[fold.accu_slot] = Eval(fold.step);
      return true;
    });
    const Value result = Finished(Eval(fold.result));
    if (stack_) stack_->Drop(IdOf(fold.range));
    return result;
  }
  // all() and exists(): the same charges as the loop they stand for.
  Value EvalQuantifier(const Node& node) {
    const Program::Fold& fold = program_.folds_[node.first];
    const Value range = Eval(fold.range);
    if (range.IsError()) return range;
    if (!range.Is(ValueKind::kList) && !range.Is(ValueKind::kMap)) return NotIterable(fold, range);
    const bool all = node.count == 1;
    Value accumulated = Value::Bool(all);
    Iterate(fold, range, [&] {
      // The condition, and the accumulator in the step.
      ChargeOnes(all ? 2 : 3);
      if (accumulated.Is(ValueKind::kBool) && accumulated.as_bool() != all) return false;
      ChargeOnes(1);
      const Value term = Eval(fold.step);
      if (term.Is(ValueKind::kBool)) {
        if (term.as_bool() != all) accumulated = term;
      } else if (!accumulated.IsError()) {
        accumulated = term.IsError() ? term : NoSuchOverload();
      }
      return true;
    });
    ChargeOnes(1);
    if (stack_) stack_->Drop(IdOf(fold.range));
    return accumulated;
  }

  const Program& program_;
  Activation& activation_;
  Arena& arena_;
  const std::uint64_t limit_;
  std::uint64_t cost_ = 0;
  Value inline_slots_[kInlineSlots];
  char lazy_ready_[kInlineSlots] = {};
  std::vector<char> lazy_ready_large_;
  Value* slots_ = nullptr;
  std::optional<TrackerStack> stack_;
};

Evaluation Program::Evaluate(Activation& activation, Arena& arena, std::uint64_t limit) const {
  static constexpr ErrorText kCancelled{"operation cancelled: actual cost limit exceeded"};
  Interpreter interpreter(*this, activation, arena, limit);
  Evaluation evaluation;
  try {
    evaluation.value = interpreter.Run();
  } catch (const EvaluationCancelled&) {
    evaluation.value = Value::Error(&kCancelled);
    evaluation.cancelled = true;
  }
  evaluation.cost = interpreter.cost();
  return evaluation;
}

}  // namespace flyball::cel
