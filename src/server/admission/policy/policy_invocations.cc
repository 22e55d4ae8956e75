#include "server/admission/policy/policy_invocations.h"

#include "server/catalog/served_forms.h"

namespace flyball::server {
namespace {

Error ParamError(std::string message) {
  return Error(Reason::kUnknown, 500, std::move(message));
}

Task<Result<json::Value>> ParamValue(const ServedResource& kind, const StoredObject& object,
                                     Executor& executor) {
  auto working = WorkingValue(kind, object, executor);
  FLYBALL_CO_ASSIGN(json::Value value, co_await std::move(working));
  if (kind.conversion) co_return kind.conversion->from_stored(std::move(value));
  co_return value;
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

Result<std::vector<ObjectPtr>> FindParams(const ServedResource& kind, const json::Value& ref,
                                          const std::string& space) {
  std::vector<ObjectPtr> found;
  if (const auto name = ref["name"].string_or(""); !name.empty()) {
    if (auto one = kind.cache->Get(ServedResource::CacheKey(space, name))) found.push_back(std::move(one));
    return found;
  }
  if (!ref["selector"].is_object()) return Unexpected(ParamError("one of name or selector must be provided"));
  ObjectFilter filter{.namespace_name = space};
  FLYBALL_ASSIGN(filter.labels, api::LabelSelector::FromObject(ref["selector"]));
  return kind.cache->List(filter).objects;
}

ResourcePtr FindParamKind(const Catalog& catalog, const ParamKind& kind) {
  auto found = catalog.snapshot()->FindKind(kind.group, kind.version, kind.kind);
  return found && found->cache && !found->disabled ? found : nullptr;
}

// Fills in the invocations of one binding; an error's message says what is wrong with it.
Task<Status> AddBinding(const CompiledPolicy& policy, const PolicyBinding& binding,
                        const ServedResource& matched, AdmissionAttributes& attributes,
                        const Catalog& catalog, std::vector<PolicyInvocation>& out) {
  if (binding.match) {
    FLYBALL_CO_ASSIGN(const ServedResource* bound, binding.match->Match(attributes));
    if (!bound) co_return Status();
  }
  auto collecting = CollectParams(catalog, policy, binding.param_ref, attributes.namespace_name(),
                                  attributes.request().scope.executor);
  FLYBALL_CO_ASSIGN(auto params, co_await std::move(collecting));
  for (auto& param : params) out.push_back({&policy, &binding, &matched, std::move(param)});
  co_return Status();
}

}  // namespace

Task<Result<std::vector<json::Value>>> CollectParams(const Catalog& catalog, const CompiledPolicy& policy,
                                                     const json::Value& param_ref,
                                                     std::string_view namespace_name, Executor& executor) {
  if (!policy.param_kind || param_ref.is_null()) co_return std::vector<json::Value>(1);
  const auto kind = FindParamKind(catalog, *policy.param_kind);
  if (!kind)
    co_return Unexpected(ParamError("paramKind kind `" + policy.param_kind->ToString() + "` not known"));
  FLYBALL_CO_ASSIGN(const std::string space,
                    ParamNamespace(*kind, param_ref["namespace"].string_or(""), namespace_name));
  FLYBALL_CO_ASSIGN(const auto found, FindParams(*kind, param_ref, space));
  if (found.empty() && param_ref["parameterNotFoundAction"].string_or("") == "Deny")
    co_return Unexpected(
        ParamError("no params found for policy binding with `Deny` parameterNotFoundAction"));
  std::vector<json::Value> params;
  for (const auto& object : found) {
    auto reading = ParamValue(*kind, *object, executor);
    FLYBALL_CO_ASSIGN(json::Value param, co_await std::move(reading));
    params.push_back(std::move(param));
  }
  co_return params;
}

Task<PolicyInvocations> FindInvocations(const PolicyHooks& hooks, AdmissionAttributes& attributes,
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
    for (const auto& binding : hook.bindings) {
      auto adding = AddBinding(policy, *binding, **matched, attributes, catalog, found.invocations);
      if (const auto added = co_await std::move(adding); !added)
        wrong(binding.get(), added.error().message());
    }
  }
  co_return found;
}

}  // namespace flyball::server
