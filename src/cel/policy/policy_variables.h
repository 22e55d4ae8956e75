// The variables that expressions of admission policies and of webhooks' match conditions may use, and their
// types (upstream: admission/plugin/cel/compile.go). Functions only; thread-safe.
#pragma once

#include "cel/types/type.h"

namespace flyball::cel {

// In the order in which they are declared: the index of a variable is the same in every expression, whether
// or not that expression may use it.
enum PolicyVariable : int {
  kObjectVariable,
  kOldObjectVariable,
  kNamespaceObjectVariable,
  kRequestVariable,
  kVariablesVariable,
  kParamsVariable,
  kAuthorizerVariable,
  kRequestResourceVariable,  // authorizer.requestResource
};
inline constexpr int kPolicyVariableCount = kRequestResourceVariable + 1;

// What `request` and `namespaceObject` are. They live for ever.
const Type* AdmissionRequestType();
const Type* NamespaceObjectType();

}  // namespace flyball::cel
