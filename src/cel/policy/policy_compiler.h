// PolicyCompiler: compiles the expressions of one admission policy, or the match conditions of one webhook
// (upstream: admission/plugin/cel compile.go, composition.go).
//
//   PolicyCompiler compiler(PolicyCompiler::Composition::kVariables);
//   auto limit = compiler.CompileVariable("limit", "params.limit", {.params = true});
//   auto rule = compiler.Compile("object.spec.replicas <= variables.limit", {.wanted = {"bool"}});
//
// Confined to one thread. What it compiled does not depend on it afterwards.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/expression.h"
#include "cel/schema/decl_type.h"
#include "cel/types/type.h"

namespace flyball::cel {

// An expression that is compiled, or that cannot be. Immutable; thread-safe.
struct PolicyExpression {
  enum class Failure : std::uint8_t { kNone, kInvalid, kInternal };

  std::string text;
  std::unique_ptr<const Expression> expression;  // null: see `error`
  Failure failure = Failure::kNone;
  std::string error;   // "compilation failed: ERROR: ...", "must evaluate to bool but got int"
  std::string issues;  // "ERROR: <input>:1:1: ..."; empty unless the text itself is wrong
};

// variables.NAME.
struct PolicyVariableExpression {
  std::string name;
  PolicyExpression value;
};

struct PolicyCompileOptions {
  bool params = false, authorizer = false;  // these variables are declared
  bool patch_types = false;                 // Object{} and JSONPatch{} are
  bool request_resource = true;             // authorizer.requestResource is, if the authorizer is
  bool stored = true;  // false: a new expression, which may use only what an older server understands
  std::vector<std::string_view> wanted{};  // the types it may evaluate to; empty: any
};

class PolicyCompiler {
 public:
  enum class Composition : std::uint8_t { kNone, kVariables };
  // What is known of the object and the params; dyn for everything that is evaluated.
  struct Types {
    const Type* object = &types::kDyn;
    const Type* params = &types::kDyn;
  };

  explicit PolicyCompiler(Composition composition) : PolicyCompiler(composition, Types{}) {}
  PolicyCompiler(Composition composition, Types types);
  PolicyCompiler(const PolicyCompiler&) = delete;
  PolicyCompiler& operator=(const PolicyCompiler&) = delete;

  PolicyExpression Compile(std::string_view text, const PolicyCompileOptions& options);
  // The same, and variables.NAME is declared to all that follow, even if this fails.
  PolicyExpression CompileVariable(std::string_view name, std::string_view text,
                                   const PolicyCompileOptions& options);

 private:
  PolicyExpression Compile(std::string_view text, const PolicyCompileOptions& options, const Type** type);

  const Composition composition_;
  const Types known_;
  TypeStore types_;
  std::deque<DeclType> fields_;
  ObjectDecl variables_;
  const Type* variables_type_;
};

}  // namespace flyball::cel
