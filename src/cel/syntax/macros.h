// Macros: calls that stand for other expressions, mostly loops (upstream: cel-go parser/macro.go, ext).
// Internal to the parser.
#pragma once

#include <string_view>
#include <vector>

#include "cel/syntax/ast.h"
#include "cel/syntax/parser.h"

namespace flyball::cel {

// Replaces the call `name` at `offset` by what its macro means. Null if it is no macro; then nothing has
// changed. An issue is added if it is used wrongly; the result is then an unspecified expression.
Expr* ExpandMacro(Ast& ast, const ParserOptions& options, std::size_t offset, std::string_view name,
                  Expr* target, const std::vector<Expr*>& args, std::vector<Issue>& issues);

}  // namespace flyball::cel
