// Functions an expression can call: their signatures and what they do. Built once per Environment; immutable
// afterwards and thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cel/types/type.h"
#include "cel/values/value.h"

namespace flyball::cel {

// Does the work. The arguments are no errors, unless the overload is not strict.
using NativeFunction = Value (*)(Arena& arena, const Value* args, std::size_t count);

// How the run-time cost of a call is computed (upstream: interpreter/runtimecost.go, library/cost.go,
// ext/lists.go).
enum class CostRule : std::uint8_t {
  kOne,
  kScanFirst,       // a tenth of the first argument's size
  kScanSecond,      // a tenth of the second's
  kScanFirstTwice,  // a fifth of the first's
  kScanBoth,        // a tenth of both together
  kScanShorter,     // a tenth of the smaller: comparisons
  kSecondSize,      // `in` of a list
  kRegex,
  kContains,
  kAuthorizerCheck,
  kSelector,
  kTraversal,  // every element, and a tenth of its characters
  kJoin,       // a fifth of the result's size
  kContainsIp,
  kContainsCidr,
  kValidateFormat,
  kListOutput,
  kListFlatten,
  kListCompareFirst,   // sort, distinct
  kListCompareSecond,  // sortBy
  kSetsOnce,
  kSetsTwice,
  kEquality,
};

// How static costs are estimated where neither the rule above nor the default says it all.
struct Overload {
  std::string id;
  bool member = false;
  std::vector<const Type*> args;
  const Type* result = nullptr;
  std::vector<const Type*> params;  // the type parameters that occur in it
  NativeFunction call = nullptr;    // null if the function has one for all overloads, or the planner does it
  bool non_strict = false;
  bool stops_at_error = false;  // arguments after one that is an error are not evaluated
  CostRule cost = CostRule::kOne;
};

// What a value can do; a function for all overloads asks for one of these of its first argument.
enum class Trait : std::uint8_t {
  kNone,
  kAdder,
  kComparer,
  kDivider,
  kModder,
  kMultiplier,
  kNegator,
  kSizer,
  kSubtractor,
  kMatcher,
  kLister
};

bool HasTrait(const Value& value, Trait trait);

struct FunctionDecl {
  std::string name;
  std::deque<Overload> overloads;
  NativeFunction singleton = nullptr;
  Trait trait = Trait::kNone;
  bool guards = true;              // arguments are checked against the signature when called
  CostRule cost = CostRule::kOne;  // if the overload is known at run time only
};

// The value may be passed for a parameter of that type. Looks at the first element of lists and maps only, as
// upstream.
bool FitsAtRunTime(Arena& arena, const Type& type, const Value& value);
// "no such overload: f(int, string)".
Value NoOverloadFor(Arena& arena, std::string_view function, const Value* args, std::size_t count);

}  // namespace flyball::cel
