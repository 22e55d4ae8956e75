// Lists whose schema makes them a set, or a map by the keys of their elements (x-kubernetes-list-type).
// Functions only; thread-safe.
#pragma once

#include "cel/values/value.h"

namespace flyball::cel {

// The same elements, in any order. Requires that `a` is keyed and `b` a list of the same size.
Value EqualKeyedLists(Arena& arena, const Value& a, const Value& b);
// a's elements, with those of `b` added or, in a map, replaced. Requires that `a` is keyed and `b` a list.
Value AddKeyedLists(Arena& arena, const Value& a, const Value& b);

}  // namespace flyball::cel
