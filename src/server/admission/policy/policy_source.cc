#include "server/admission/policy/policy_source.h"

#include <map>

namespace flyball::server {
namespace {

const json::Array& PolicyItems(const json::Value& list) {
  static const json::Array kNone;
  return list.is_array() ? list.as_array() : kNone;
}

std::string PolicyText(const json::Value& object, std::string_view member) {
  return std::string(object[member].string_or(""));
}

std::optional<ParamKind> ReadParamKind(const json::Value& kind) {
  if (!kind.is_object()) return std::nullopt;
  const std::string version = PolicyText(kind, "apiVersion");
  const std::size_t slash = version.find('/');
  if (slash == std::string::npos) return ParamKind{"", version, PolicyText(kind, "kind")};
  return ParamKind{version.substr(0, slash), version.substr(slash + 1), PolicyText(kind, "kind")};
}

}  // namespace

CompiledPolicy::CompiledPolicy(const json::Value& policy) : name(PolicyText(policy["metadata"], "name")) {
  const json::Value& spec = policy["spec"];
  failure_policy = FailurePolicyOf(spec["failurePolicy"]);
  param_kind = ReadParamKind(spec["paramKind"]);
  match = MatchResources::OfPolicy(spec["matchConstraints"]);
  reinvoked_if_needed = PolicyText(spec, "reinvocationPolicy") == "IfNeeded";
  cel::PolicyCompiler compiler(cel::PolicyCompiler::Composition::kVariables);
  const cel::PolicyCompileOptions options{.params = param_kind.has_value(), .authorizer = true};
  for (const json::Value& variable : PolicyItems(spec["variables"])) {
    const std::string called = PolicyText(variable, "name");
    variables.push_back(
        {called, compiler.CompileVariable(called, PolicyText(variable, "expression"), options)});
  }
  conditions = MatchConditions(spec["matchConditions"], compiler, options);
  CompileValidations(spec, compiler);
  CompileMutations(spec, compiler);
}

void CompiledPolicy::CompileValidations(const json::Value& spec, cel::PolicyCompiler& compiler) {
  const bool params = param_kind.has_value();
  for (const json::Value& given : PolicyItems(spec["validations"])) {
    Validation& validation = validations.emplace_back();
    validation.expression = compiler.Compile(PolicyText(given, "expression"),
                                             {.params = params, .authorizer = true, .wanted = {"bool"}});
    validation.message = PolicyText(given, "message");
    validation.reason = PolicyText(given, "reason");
    if (const auto text = PolicyText(given, "messageExpression"); !text.empty())
      validation.message_expression = compiler.Compile(text, {.params = params, .wanted = {"string"}});
  }
  for (const json::Value& given : PolicyItems(spec["auditAnnotations"]))
    audit_annotations.push_back(
        {PolicyText(given, "key"),
         compiler.Compile(PolicyText(given, "valueExpression"),
                          {.params = params, .authorizer = true, .wanted = {"string", "null_type"}})});
}

void CompiledPolicy::CompileMutations(const json::Value& spec, cel::PolicyCompiler& compiler) {
  cel::PolicyCompileOptions options{
      .params = param_kind.has_value(), .authorizer = true, .patch_types = true};
  for (const json::Value& given : PolicyItems(spec["mutations"])) {
    const bool json_patch = PolicyText(given, "patchType") == "JSONPatch";
    options.wanted = {json_patch ? "list(JSONPatch)" : "Object"};
    const auto& form = given[json_patch ? "jsonPatch" : "applyConfiguration"];
    mutations.push_back({json_patch, compiler.Compile(PolicyText(form, "expression"), options)});
  }
}

PolicyBinding::PolicyBinding(const json::Value& binding)
    : name(PolicyText(binding["metadata"], "name")),
      policy_name(PolicyText(binding["spec"], "policyName")),
      param_ref(binding["spec"]["paramRef"]) {
  if (const auto& resources = binding["spec"]["matchResources"]; resources.is_object())
    match = MatchResources::OfPolicy(resources);
  for (const json::Value& action : PolicyItems(binding["spec"]["validationActions"]))
    actions.emplace_back(action.string_or(""));
}

PolicySource::PolicySource(const Catalog& catalog, std::string_view policies, std::string_view bindings)
    : policies_(catalog.Find("admissionregistration.k8s.io", "v1", policies)),
      bindings_(catalog.Find("admissionregistration.k8s.io", "v1", bindings)),
      hooks_(std::make_shared<const PolicyHooks>()) {}

std::shared_ptr<const PolicyHooks> PolicySource::Hooks() const {
  const store::Revision policies = policies_->cache->last_change();
  const store::Revision bindings = bindings_->cache->last_change();
  const MutexLock lock(mu_);
  if (policies > policies_seen_ || bindings > bindings_seen_) Refresh();
  return hooks_;
}

namespace {

// What the objects are compiled to; what has not changed is taken from `before`.
template <typename T, typename Table>
Table CompileAll(const std::vector<ObjectPtr>& objects, const Table& before) {
  Table after;
  for (const ObjectPtr& object : objects) {
    const auto known = before.find(object->name());
    if (known != before.end() && known->second.revision == object->revision()) {
      after.emplace(*known);
    } else {
      after[object->name()] = {object->revision(), std::make_shared<const T>(object->ToValue())};
    }
  }
  return after;
}

}  // namespace

void PolicySource::Refresh() const {
  // The revisions are read first: a change while the objects are listed is looked at again.
  policies_seen_ = policies_->cache->last_change();
  bindings_seen_ = bindings_->cache->last_change();
  compiled_ = CompileAll<CompiledPolicy>(policies_->cache->List(ObjectFilter{}).objects, compiled_);
  bound_ = CompileAll<PolicyBinding>(bindings_->cache->List(ObjectFilter{}).objects, bound_);
  std::map<std::string, std::map<std::string, std::shared_ptr<const PolicyBinding>>> by_policy;
  for (const auto& [name, binding] : bound_) by_policy[binding.value->policy_name][name] = binding.value;
  auto hooks = std::make_shared<PolicyHooks>();
  for (const auto& [policy, bindings] : by_policy) {
    const auto found = compiled_.find(policy);
    if (found == compiled_.end()) continue;
    PolicyHook& hook = hooks->emplace_back(PolicyHook{found->second.value, {}});
    for (const auto& [name, binding] : bindings) hook.bindings.push_back(binding);
  }
  hooks_ = std::move(hooks);
}

}  // namespace flyball::server
