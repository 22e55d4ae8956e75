#include "server/admission/policy/policy_invocations.h"

namespace flyball::server {
namespace {

Error ParamError(std::string message) {
  return Error(Reason::kUnknown, 500, std::move(message));
}

json::Value ParamValue(const ServedResource& kind, const StoredObject& object) {
  json::Value value = object.ToValue();
  if (kind.conversion && kind.conversion->from_stored) return kind.conversion->from_stored(std::move(value));
  return value;
}

// Where the params of a binding are: "" for kinds that are in no namespace.
Result<std::string> ParamNamespace(const ServedResource& kind, std::string_view given,
                                   std::string_view request_namespace) {
  if (!kind.kind->namespaced) {
    if (given.empty()) return std::string();
    return Unexpected(ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`"));
  }
  if (!given.empty()) return std::string(given);
  if (!request_namespace.empty()) return std::string(request_namespace);
  return Unexpected(
      ParamError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"));
}

Result<std::vector<json::Value>> ReadParams(const ServedResource& kind, const json::Value& ref,
                                            const std::string& space) {
  std::vector<json::Value> params;
  if (const auto name = ref["name"].string_or(""); !name.empty()) {
    if (const auto found = kind.cache->Get(ServedResource::CacheKey(space, name)))
      params.push_back(ParamValue(kind, *found));
    return params;
  }
  if (!ref["selector"].is_object()) return Unexpected(ParamError("one of name or selector must be provided"));
  ObjectFilter filter{.namespace_name = space};
  FLYBALL_ASSIGN(filter.labels, api::LabelSelector::FromObject(ref["selector"]));
  for (const auto& object : kind.cache->List(filter).objects) params.push_back(ParamValue(kind, *object));
  return params;
}

ResourcePtr FindParamKind(const Catalog& catalog, const ParamKind& kind) {
  auto found = catalog.snapshot()->FindKind(kind.group, kind.version, kind.kind);
  return found && found->cache && !found->disabled ? found : nullptr;
}

// Fills in the invocations of one binding; an error's message says what is wrong with it.
Status AddBinding(const CompiledPolicy& policy, const PolicyBinding& binding, const ServedResource& matched,
                  AdmissionAttributes& attributes, const Catalog& catalog,
                  std::vector<PolicyInvocation>& out) {
  if (binding.match) {
    FLYBALL_ASSIGN(const ServedResource* bound, binding.match->Match(attributes));
    if (!bound) return {};
  }
  FLYBALL_ASSIGN(auto params, CollectParams(catalog, policy, binding.param_ref, attributes.namespace_name()));
  for (auto& param : params) out.push_back({&policy, &binding, &matched, std::move(param)});
  return {};
}

}  // namespace

Result<std::vector<json::Value>> CollectParams(const Catalog& catalog, const CompiledPolicy& policy,
                                               const json::Value& param_ref,
                                               std::string_view namespace_name) {
  if (!policy.param_kind || param_ref.is_null()) return std::vector<json::Value>(1);
  const auto kind = FindParamKind(catalog, *policy.param_kind);
  if (!kind)
    return Unexpected(ParamError("paramKind kind `" + policy.param_kind->ToString() + "` not known"));
  FLYBALL_ASSIGN(const std::string space,
                 ParamNamespace(*kind, param_ref["namespace"].string_or(""), namespace_name));
  FLYBALL_ASSIGN(auto params, ReadParams(*kind, param_ref, space));
  if (params.empty() && param_ref["parameterNotFoundAction"].string_or("") == "Deny")
    return Unexpected(ParamError("no params found for policy binding with `Deny` parameterNotFoundAction"));
  return params;
}

PolicyInvocations FindInvocations(const PolicyHooks& hooks, AdmissionAttributes& attributes,
                                  const Catalog& catalog) {
  PolicyInvocations found;
  for (const PolicyHook& hook : hooks) {
    const CompiledPolicy& policy = *hook.policy;
    const auto wrong = [&](const PolicyBinding* binding, std::string_view why) {
      found.misconfigured.push_back(
          {&policy, binding,
           std::string("failed to configure ") + (binding ? "binding: " : "policy: ") + std::string(why)});
    };
    const auto matched = policy.match.Match(attributes);
    if (!matched) {
      wrong(nullptr, matched.error().message());
      continue;
    }
    if (!*matched) continue;
    if (policy.param_kind && !FindParamKind(catalog, *policy.param_kind)) {
      wrong(nullptr,
            "failed to find resource referenced by paramKind: '" + policy.param_kind->ToString() + "'");
      continue;
    }
    for (const auto& binding : hook.bindings)
      if (const auto added = AddBinding(policy, *binding, **matched, attributes, catalog, found.invocations);
          !added)
        wrong(binding.get(), added.error().message());
  }
  return found;
}

}  // namespace flyball::server
