// Calling functions. Internal to planner and interpreter.
#pragma once

#include "cel/functions/function.h"

namespace flyball::cel {

// `overload` is null if the arguments decide.
Value CallFunction(Arena& arena, const FunctionDecl& function, const Overload* overload, const Value* args,
                   std::size_t count);
Value CallSingleton(Arena& arena, const FunctionDecl& function, const Value* args, std::size_t count);

// The run-time cost of a call. `overload` may be null.
std::uint64_t CallCostOf(Arena& arena, CostRule rule, const Overload* overload, const Value* args,
                         std::size_t count, const Value& result);

}  // namespace flyball::cel
