// Text to syntax tree: upstream's grammar, limits and macros (cel-go parser). Functions only; thread-safe.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cel/syntax/ast.h"
#include "cel/syntax/source.h"

namespace flyball::cel {

// Which macros there are besides the standard ones.
struct ParserOptions {
  bool optional_syntax = true;      // x.?y, x[?y], optMap
  bool two_variable_macros = true;  // all(k, v, ...), transformList
  bool sort_by = true;
  bool bind = false;  // cel.bind(name, value, expression)
};

inline constexpr std::size_t kMaxExpressionCharacters = 100'000;
// Nesting of expressions, and of the operations in one.
inline constexpr int kMaxParseDepth = 250;

// Null if there are issues.
std::unique_ptr<Ast> ParseExpression(std::string_view text, const ParserOptions& options,
                                     std::vector<Issue>& issues);

}  // namespace flyball::cel
