// The type checker (upstream: cel-go checker) and the checks of literals that follow it (cel/validator.go).
// Functions only; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "cel/library/environment.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/source.h"

namespace flyball::cel {

struct VariableDecl {
  std::string name;
  const Type* type;
};

// Annotates the tree with types, resolved functions and variables. Adds an issue for everything that is
// wrong.
void CheckTypes(Ast& ast, const Environment& environment, const std::vector<VariableDecl>& variables,
                std::vector<Issue>& issues);

// Literal arguments that can only fail, and lists and maps of mixed types. Requires a tree without issues.
void CheckLiterals(const Ast& ast, const Environment& environment, std::vector<Issue>& issues);

}  // namespace flyball::cel
