// PolicySource: the admission policies of one kind with their bindings, compiled (upstream:
// policy/generic/policy_source.go). A policy takes effect with the first request after it is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/run/mutex.h"
#include "cel/policy/policy_compiler.h"
#include "json/value.h"
#include "server/admission/match/match_conditions.h"
#include "server/admission/match/match_resources.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

struct ParamKind {
  std::string group, version, kind;
  // "rules.example.com/v1, Kind=Limit".
  std::string ToString() const { return group + "/" + version + ", Kind=" + kind; }
};

// A policy of either kind. Immutable; thread-safe.
struct CompiledPolicy {
  struct Validation {
    cel::PolicyExpression expression;
    std::optional<cel::PolicyExpression> message_expression;
    std::string message, reason;
  };
  struct AuditAnnotation {
    std::string key;
    cel::PolicyExpression value;
  };
  struct Mutation {
    bool json_patch = false;  // else an apply configuration
    cel::PolicyExpression expression;
  };

  explicit CompiledPolicy(const json::Value& policy);

  std::string name;
  FailurePolicy failure_policy = FailurePolicy::kFail;
  std::optional<ParamKind> param_kind;
  MatchResources match;
  std::vector<cel::PolicyVariableExpression> variables;
  MatchConditions conditions;
  std::vector<Validation> validations;
  std::vector<AuditAnnotation> audit_annotations;
  std::vector<Mutation> mutations;
  bool reinvoked_if_needed = false;

 private:
  void CompileValidations(const json::Value& spec, cel::PolicyCompiler& compiler);
  void CompileMutations(const json::Value& spec, cel::PolicyCompiler& compiler);
};

struct PolicyBinding {
  explicit PolicyBinding(const json::Value& binding);

  std::string name, policy_name;
  std::optional<MatchResources> match;
  json::Value param_ref;  // null if there is none
  std::vector<std::string> actions;
};

// A policy that is bound.
struct PolicyHook {
  std::shared_ptr<const CompiledPolicy> policy;
  std::vector<std::shared_ptr<const PolicyBinding>> bindings;
};
using PolicyHooks = std::vector<PolicyHook>;

// Thread-safe.
class PolicySource {
 public:
  // "validatingadmissionpolicies" and "validatingadmissionpolicybindings", or those that mutate.
  PolicySource(const Catalog& catalog, std::string_view policies, std::string_view bindings);

  // Never null; by the policies' names. Compiles what has changed since the last call.
  std::shared_ptr<const PolicyHooks> Hooks() const;

 private:
  template <typename T>
  struct Compiled {
    store::Revision revision = 0;
    std::shared_ptr<const T> value;
  };
  template <typename T>
  using Table = std::unordered_map<std::string, Compiled<T>>;

  void Refresh() const FLYBALL_REQUIRES(mu_);

  const ResourcePtr policies_, bindings_;
  mutable Mutex mu_;
  mutable Table<CompiledPolicy> compiled_ FLYBALL_GUARDED_BY(mu_);
  mutable Table<PolicyBinding> bound_ FLYBALL_GUARDED_BY(mu_);
  mutable std::shared_ptr<const PolicyHooks> hooks_ FLYBALL_GUARDED_BY(mu_);
  mutable store::Revision policies_seen_ FLYBALL_GUARDED_BY(mu_) = -1;
  mutable store::Revision bindings_seen_ FLYBALL_GUARDED_BY(mu_) = -1;
};

}  // namespace flyball::server
