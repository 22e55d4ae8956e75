// Expression: the module's front door. Compiles an expression of Kubernetes' dialect of CEL, and evaluates
// it.
//
//   auto compiled = cel::Compile("self.replicas <= 10", {.environment = &Environment::Stored(), ...});
//   if (!compiled.expression) return compiled.error;
//   Arena arena;
//   Evaluation result = compiled.expression->program().Evaluate(activation, arena);
//
// Immutable after Compile; thread-safe. The schema that declarations came from must outlive it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/check/checker.h"
#include "cel/check/static_cost.h"
#include "cel/eval/program.h"
#include "cel/library/environment.h"
#include "cel/schema/decl_type.h"

namespace flyball::cel {

enum class CompilePhase : std::uint8_t { kParse, kCheck, kProgram, kDone };

struct CompileOptions {
  const Environment* environment = nullptr;
  std::vector<VariableDecl> variables;
  // What self and oldSelf are, for static costs; null if nothing is known of them.
  const DeclType* root = nullptr;
  bool bind = false;  // with the macro cel.bind
  // Keeps a copy of the result's type; null: nobody wants it.
  TypeStore* types = nullptr;
};

class Expression {
 public:
  const Program& program() const { return *program_; }
  // The static type of the result: its kind and its text.
  TypeKind type_kind() const { return type_kind_; }
  bool result_is_nullable() const { return nullable_; }
  const std::string& type_text() const { return type_text_; }
  const CostEstimate& cost() const { return cost_; }

 private:
  friend struct CompileResult Compile(std::string_view text, const CompileOptions& options);
  std::unique_ptr<const Program> program_;
  TypeKind type_kind_ = TypeKind::kDyn;
  bool nullable_ = false;
  std::string type_text_;
  CostEstimate cost_;
};

struct CompileResult {
  std::unique_ptr<const Expression> expression;  // null if there is an error
  CompilePhase phase = CompilePhase::kDone;      // where it failed
  std::string error;  // "ERROR: <input>:1:5: ..." of parser and checker, plain text of the program
  // Known once checked, even if making the program failed.
  std::string type_text;
  TypeKind type_kind = TypeKind::kError;
  const Type* type = nullptr;  // in the TypeStore of the options
  CostEstimate cost;
  std::vector<std::string> overloads;  // ids that the checker resolved, sorted
};

CompileResult Compile(std::string_view text, const CompileOptions& options);

// Whether the expression selects one of the variable's fields, plainly, by has() or by `.?`: claims.email.
// False if it does not parse.
bool SelectsField(std::string_view text, const Environment& environment, std::string_view variable,
                  std::string_view field);

}  // namespace flyball::cel
