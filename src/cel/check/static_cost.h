// How much an expression can cost to evaluate, judged from its text and the sizes its schema allows
// (upstream: cel-go checker/cost.go, apiserver cel/library/cost.go). Functions only; thread-safe.
#pragma once

#include <cstdint>

#include "cel/schema/decl_type.h"
#include "cel/syntax/ast.h"

namespace flyball::cel {

// A range; UINT64_MAX as maximum means without bound.
struct CostEstimate {
  std::uint64_t min = 0, max = 0;
  bool operator==(const CostEstimate&) const = default;
};

// Requires a checked tree. `root`: what the variables self and oldSelf are; null if nothing is known of them.
CostEstimate EstimateCost(const Ast& ast, const DeclType* root);

}  // namespace flyball::cel
