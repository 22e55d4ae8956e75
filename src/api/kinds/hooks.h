// The hooks of every kind that has some, one constant a kind, defined in the file named after it.
#pragma once

#include <span>

#include "api/kind_hooks.h"

namespace flyball::api {

extern const KindHooks kCustomResourceDefinitionHooks;
extern const KindHooks kStatefulSetHooks;

// Every kind's hooks, in no particular order.
std::span<const KindHooks* const> AllKindHooks();

}  // namespace flyball::api
