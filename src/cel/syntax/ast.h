// The syntax tree of an expression, with what the checker found out about each node. Macros are expanded
// already. Confined to one thread while it is built and checked.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/types/type.h"
#include "cel/values/value.h"

namespace flyball::cel {

struct FunctionDecl;
struct Overload;

enum class ExprKind : std::uint8_t {
  kLiteral,
  kIdent,
  kSelect,
  kCall,
  kList,
  kMap,
  kStruct,
  kComprehension,
  kUnspecified
};

struct Expr;

struct Comprehension {
  std::string_view iter_var, iter_var2, accu_var;  // iter_var2 may be empty
  Expr *range, *init, *condition, *step, *result;
};

// What an identifier turned out to be.
enum class IdentTarget : std::uint8_t { kUnresolved, kVariable, kLocal, kType };

struct Expr {
  ExprKind kind = ExprKind::kUnspecified;
  bool test_only = false;  // a select within has()
  bool is_member = false;  // a call with a target
  IdentTarget target_kind = IdentTarget::kUnresolved;
  std::int32_t id = 0;
  std::uint32_t offset = 0;  // into the source, in bytes
  // How deep upstream's parser would recurse to visit it.
  std::uint16_t visit_depth = 0;
  std::string_view name;  // of an identifier, field, function or message type
  Value literal;
  Expr* operand = nullptr;  // of a select; target of a member call
  std::vector<Expr*>
      args;  // of a call, elements of a list, keys and values of a map in turn, values of a struct
  std::vector<std::uint8_t> optional;         // per element or entry, where any is
  std::vector<std::string_view> field_names;  // of a struct
  std::vector<std::uint32_t> entry_offsets;   // of the entries of a map or struct
  std::unique_ptr<Comprehension> comprehension;

  // By the checker.
  const Type* type = nullptr;
  const FunctionDecl* function = nullptr;
  std::vector<const Overload*> overloads;
  const Type* type_value = nullptr;  // of an identifier that names a type
  int variable = -1;                 // index among the environment's variables

  bool IsOptional(std::size_t i) const { return i < optional.size() && optional[i]; }
};

class Ast {
 public:
  Ast() = default;
  Ast(const Ast&) = delete;
  Ast& operator=(const Ast&) = delete;

  Expr* New(ExprKind kind, std::size_t offset) {
    Expr& expr = nodes_.emplace_back();
    expr.kind = kind;
    expr.id = static_cast<std::int32_t>(nodes_.size());
    expr.offset = static_cast<std::uint32_t>(offset);
    return &expr;
  }
  // Text that lives as long as the tree.
  std::string_view Keep(std::string_view text) { return arena_.Copy(text); }
  Arena& arena() { return arena_; }
  TypeStore& types() { return types_; }
  std::deque<Expr>& nodes() { return nodes_; }
  std::size_t size() const { return nodes_.size(); }

  Expr* root = nullptr;

 private:
  std::deque<Expr> nodes_;
  Arena arena_;
  TypeStore types_;
};

}  // namespace flyball::cel
