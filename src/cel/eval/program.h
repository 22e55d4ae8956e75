// Program: a checked expression made ready to run: a flat array of nodes with constants folded, calls bound
// and variables resolved to slots (upstream: cel-go interpreter/planner.go, decorators.go). Immutable after
// Build; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/formats/regex.h"
#include "cel/library/environment.h"
#include "cel/schema/schema.h"
#include "cel/syntax/ast.h"
#include "cel/values/value.h"

namespace flyball::cel {

// The values of variables, by their index among those the expression was checked with.
class Activation {
 public:
  virtual ~Activation() = default;
  // False if the variable has no value.
  virtual bool Find(int variable, Value* value) = 0;
};

// A few variables with their values.
class FixedActivation final : public Activation {
 public:
  static constexpr int kMaxVariables = 8;

  // Requires variable < kMaxVariables.
  void Set(int variable, const Value& value) {
    values_[variable] = value;
    bound_ |= 1u << variable;
  }
  bool Find(int variable, Value* value) override {
    if (variable >= kMaxVariables || !(bound_ >> variable & 1)) return false;
    *value = values_[variable];
    return true;
  }

 private:
  Value values_[kMaxVariables];
  unsigned bound_ = 0;
};

// What one call may cost (upstream: PerCallLimit).
inline constexpr std::uint64_t kPerCallLimit = 1'000'000;

struct Evaluation {
  Value value;  // an error value if evaluation failed
  std::uint64_t cost = 0;
  bool cancelled = false;  // too expensive
};

class Program {
 public:
  // Requires a checked tree without issues. Null and a message if folding constants failed.
  static std::unique_ptr<const Program> Build(const Ast& ast, const std::vector<std::string>& variable_names,
                                              std::string* problem);

  // The result points into `arena`, the program and the activation's values.
  Evaluation Evaluate(Activation& activation, Arena& arena, std::uint64_t limit = kPerCallLimit) const;

  // Whether the variable occurs in the expression.
  bool Uses(int variable) const { return variable < 64 && (used_variables_ >> variable & 1); }

 private:
  friend class Planner;
  friend class Interpreter;

  enum class Op : std::uint8_t {
    kConst,
    kAttribute,
    kTestOnly,
    kAnd,
    kOr,
    kEqual,
    kNotEqual,
    kCall,       // of a function with an implementation per overload
    kSingleton,  // of a function with one implementation
    kRegex,      // matches, find, findAll with a constant pattern
    kList,
    kMap,
    kStruct,
    kFold,
    kQuantifier,  // a fold of all() or exists()
    kMembership,  // `in` of a constant list
    kOptionalOr,
    kOptionalOrValue,
  };
  // Calls that are worth a way of their own when the arguments are what they mostly are.
  enum class Shortcut : std::uint8_t { kNone, kLess, kLessEquals, kGreater, kGreaterEquals, kSize };
  struct Node {
    Op op = Op::kConst;
    Shortcut shortcut = Shortcut::kNone;
    std::uint8_t count = 0;  // of arguments; for a quantifier, 1 means all()
    bool stops_at_error = false;
    bool non_strict = false;
    CostRule cost = CostRule::kOne;
    std::uint32_t first = 0;  // of the arguments in children_; index of the attribute, fold, regex or table
    std::int32_t id = 0;
    NativeFunction call = nullptr;
    const FunctionDecl* function = nullptr;
    const Overload* overload = nullptr;  // null if it is chosen when called
    Value constant;
  };
  struct Qualifier {
    enum class Kind : std::uint8_t { kField, kConst, kAttribute, kNode };
    Kind kind = Kind::kField;
    bool optional = false, test_only = false;
    std::uint32_t index = 0;  // of the attribute or node
    std::int32_t id = 0;
    Value constant;
    // Where a typed field stands, if the static type told.
    const Schema* owner = nullptr;
    const Schema* field = nullptr;
    std::string_view raw_name;
  };
  struct Attribute {
    enum class Base : std::uint8_t { kVariable, kLocal, kLazyLocal, kNode, kConditional };
    Base base = Base::kVariable;
    std::uint32_t index = 0;              // of the variable, slot, node or condition
    std::uint32_t lazy = 0;               // node that gives a lazy local its value
    std::uint32_t truthy = 0, falsy = 0;  // attributes of a conditional's branches
    std::int32_t id = 0;
    std::vector<Qualifier> qualifiers;
  };
  struct Fold {
    std::uint32_t range, init, condition, step, result;
    std::uint32_t accu_slot, var_slot;  // the second variable follows the first
    bool two_variables = false, lazy = false, hides_nothing = false;
  };
  struct Table {
    std::vector<std::uint8_t> optional;
    std::vector<std::string_view> fields;
    std::string_view type_name;
    TypeKind type_kind = TypeKind::kDyn;
    bool is_wrapper = false;
  };

  Program() = default;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> children_;
  std::vector<Attribute> attributes_;
  std::vector<Fold> folds_;
  std::vector<Table> tables_;
  std::vector<std::shared_ptr<const Regex>> regexes_;
  std::vector<std::string> variable_names_;
  mutable Arena constants_;  // written only while the program is built
  std::uint32_t root_ = 0;
  std::uint32_t slots_ = 0;
  std::int32_t max_id_ = 0;
  std::uint64_t used_variables_ = 0;
  // Upstream's cost tracker forgets arguments in some loops; then its stack is kept exactly as it does.
  bool traces_stack_ = false;
};

}  // namespace flyball::cel
