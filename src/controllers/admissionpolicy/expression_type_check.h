// Type checking of a policy's expressions: do the fields they use exist in the kinds that the policy matches
// (upstream: policy/validating/typechecking.go). Pure functions; thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "json/value.h"

namespace flyball::controllers {

// A kind with its schema: an OpenAPI v3 schema without references, with the whole metadata.
struct TypedKind {
  std::string group, version, kind;
  json::Value schema;

  // "apps/v1, Kind=Deployment".
  std::string ToString() const { return group + "/" + version + ", Kind=" + kind; }
};

struct RuleResource {
  std::string group, version, resource;
  auto operator<=>(const RuleResource&) const = default;
};

// A rule that names this many kinds is checked no further.
inline constexpr std::size_t kMaxTypesToCheck = 10;

// The resources that the rules of a policy name, rule by rule; rules with wildcards name none, and
// subresources are left out.
std::vector<std::vector<RuleResource>> NamedResources(const json::Value& policy);

// status.typeChecking.expressionWarnings; empty if all is fine. `params` null: the kind of params is not
// known.
json::Array CheckExpressionTypes(const json::Value& policy, const std::vector<TypedKind>& kinds,
                                 const TypedKind* params);

}  // namespace flyball::controllers
