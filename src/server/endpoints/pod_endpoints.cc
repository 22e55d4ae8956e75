#include "server/endpoints/pod_endpoints.h"

#include "api/field_error.h"
#include "api/selector.h"
#include "api/time.h"
#include "json/json.h"
#include "server/api_errors.h"
#include "server/object_codec.h"
#include "server/patch.h"
#include "server/read_handlers.h"
#include "server/write_handlers.h"
#include "server/write_options.h"

namespace flyball::server {
namespace {

using MaybeAnswer = Result<std::optional<Answer>>;

// {"kind":"Status","status":"Success","code":201}.
Answer Succeeded() {
  json::Object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::Object{}},
                      {"status", "Success"},
                      {"code", 201}};
  return {201, "application/json", json::Write(json::Value(std::move(status)))};
}

ResourcePtr Pods(const ServerState& state) {
  return state.catalog.Find("", "v1", "pods");
}

// Puts a condition in place of the one of its type, or behind the others.
void SetCondition(json::Value& status, json::Value condition) {
  auto& list = status["conditions"];
  if (!list.is_array()) list = json::Array{};
  for (auto& existing : list.as_array())
    if (existing["type"] == condition["type"]) {
      existing = std::move(condition);
      return;
    }
  list.as_array().push_back(std::move(condition));
}

class BindingEndpoint final : public Endpoint {
 public:
  Task<MaybeAnswer> Handle(ServerState& state, RequestScope& scope, const net::Request& request,
                           std::shared_ptr<net::ResponseStream>) override {
    FLYBALL_CO_TRY(ReadWriteOptions(scope, "CreateOptions"));
    const auto* type = api::FindType("io.k8s.api.core.v1.Binding");
    FLYBALL_CO_ASSIGN(
        const json::Value binding,
        DecodeBody(scope, *type, "v1", "Binding", request.headers.Get("content-type"), request.body));
    const std::string pod =
        scope.info.name.empty() ? std::string(binding["metadata"]["name"].string_or("")) : scope.info.name;
    FLYBALL_CO_TRY(Check(binding, pod));
    const auto pods = Pods(state);
    Registry::Transform transform = [&](const json::Value& current) {
      return Bind(scope, binding, pod, current);
    };
    UpdateOptions options;
    options.subresource = "binding";
    options.conflict_retries = true;
    FLYBALL_CO_TRY(co_await state.registry.Update(scope, *pods, scope.info.namespace_name, pod,
                                                  std::move(transform), std::move(options)));
    co_return std::optional(Succeeded());
  }

 private:
  static Status Check(const json::Value& binding, std::string_view pod) {
    api::FieldErrors errors;
    const auto kind = binding["target"]["kind"].string_or("");
    if (!kind.empty() && kind != "Node")
      errors.NotSupported(api::FieldPath("target.kind"), kind, {"Node", "<empty>"});
    if (binding["target"]["name"].string_or("").empty()) errors.Required(api::FieldPath("target.name"));
    if (errors.empty()) return {};
    return Unexpected(errors.ToError("", "Binding", pod));
  }

  static Result<json::Value> Bind(const RequestScope& scope, const json::Value& binding,
                                  const std::string& name, const json::Value& pod) {
    api::KindInfo shown{.plural = "pods/binding"};
    const auto uid = binding["metadata"]["uid"].string_or("");
    if (!uid.empty() && uid != pod["metadata"]["uid"].string_or(""))
      return Unexpected(Conflict(shown, name, "pod " + name + " has a different uid"));
    if (!pod["metadata"]["deletionTimestamp"].is_null())
      return Unexpected(
          Conflict(shown, name, "pod " + name + " is being deleted, cannot be assigned to a host"));
    const auto assigned = pod["spec"]["nodeName"].string_or("");
    if (!assigned.empty())
      return Unexpected(Conflict(
          shown, name, "pod " + name + " is already assigned to node \"" + std::string(assigned) + "\""));
    if (!pod["spec"]["schedulingGates"].empty())
      return Unexpected(Conflict(shown, name, "pod " + name + " has non-empty .spec.schedulingGates"));
    json::Value next = pod;
    next["spec"]["nodeName"] = binding["target"]["name"];
    if (const auto& annotations = binding["metadata"]["annotations"]; annotations.is_object())
      for (const auto& [key, value] : annotations.as_object()) next["metadata"]["annotations"][key] = value;
    if (const auto& labels = binding["metadata"]["labels"]; labels.is_object())
      for (const auto& [key, value] : labels.as_object()) next["metadata"]["labels"][key] = value;
    SetCondition(next["status"], json::Object{{"type", "PodScheduled"},
                                              {"status", "True"},
                                              {"lastProbeTime", nullptr},
                                              {"lastTransitionTime", api::FormatTime(scope.now)}});
    return next;
  }
};

Error DisruptionRefused(std::string_view message) {
  ErrorDetails details{.causes = {{"DisruptionBudget", std::string(message), ""}}, .retry_after_seconds = 10};
  return Error(Reason::kTooManyRequests, 429,
               "Cannot evict pod as it would violate the pod's disruption budget.", std::move(details));
}

// Evicting asks the pod's disruption budget first, and tells it.
class EvictionEndpoint final : public Endpoint {
 public:
  Task<MaybeAnswer> Handle(ServerState& state, RequestScope& scope, const net::Request& request,
                           std::shared_ptr<net::ResponseStream>) override {
    FLYBALL_CO_TRY(ReadWriteOptions(scope, "CreateOptions"));
    const auto* type = api::FindType("io.k8s.api.policy.v1.Eviction");
    const AcceptsVersion older = [](std::string_view version) { return version == "policy/v1beta1"; };
    FLYBALL_CO_ASSIGN(const json::Value eviction,
                      DecodeBody(scope, *type, "policy/v1", "Eviction", request.headers.Get("content-type"),
                                 request.body, older));
    const auto pods = Pods(state);
    const auto pod = pods->cache->Get(ServedResource::CacheKey(scope.info.namespace_name, scope.info.name));
    if (!pod) co_return Unexpected(NotFound(*pods->kind, scope.info.name));
    const json::Value value = pod->ToValue();
    if (NeedsBudget(value)) FLYBALL_CO_TRY(co_await SpendBudget(state, scope, value));
    DeleteOptions options;
    const auto& given = eviction["deleteOptions"];
    if (const auto* grace = given.Find("gracePeriodSeconds"); grace && grace->is_int())
      options.grace_seconds = grace->as_int();
    if (const auto uid = given["preconditions"]["uid"].string_or(""); !uid.empty())
      options.uid = std::string(uid);
    options.dry_run = scope.dry_run || !given["dryRun"].empty();
    FLYBALL_CO_TRY(co_await state.registry.Delete(scope, *pods, scope.info.namespace_name, scope.info.name,
                                                  std::move(options)));
    co_return std::optional(Succeeded());
  }

 private:
  static bool NeedsBudget(const json::Value& pod) {
    const auto phase = pod["status"]["phase"].string_or("");
    return phase != "Succeeded" && phase != "Failed" && phase != "Pending" &&
           pod["metadata"]["deletionTimestamp"].is_null();
  }

  static Task<Status> SpendBudget(ServerState& state, RequestScope& scope, const json::Value& pod) {
    const auto budgets = state.catalog.Find("policy", "v1", "poddisruptionbudgets");
    std::vector<ObjectPtr> matching;
    for (const auto& object : budgets->cache->List({.namespace_name = scope.info.namespace_name}).objects) {
      const auto budget = object->ToValue();
      const auto selector = api::LabelSelector::FromObject(budget["spec"]["selector"]);
      if (selector && selector->Matches(pod["metadata"]["labels"])) matching.push_back(object);
    }
    if (matching.empty()) co_return Status();
    if (matching.size() > 1)
      co_return Unexpected(
          Error(Reason::kUnknown, 500,
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
                "not support."));
    const std::string pod_name(pod["metadata"]["name"].string_or(""));
    Registry::Transform transform = [&](const json::Value& budget) { return Spend(scope, pod_name, budget); };
    UpdateOptions options;
    options.subresource = "status";
    options.conflict_retries = true;
    auto spent =
        co_await state.registry.Update(scope, *budgets, scope.info.namespace_name, matching[0]->name(),
                                       std::move(transform), std::move(options));
    if (!spent) co_return Unexpected(spent.error());
    co_return Status();
  }

  static Result<json::Value> Spend(const RequestScope& scope, const std::string& pod,
                                   const json::Value& budget) {
    const std::string name(budget["metadata"]["name"].string_or(""));
    if (budget["status"]["observedGeneration"].int_or(0) < budget["metadata"]["generation"].int_or(0))
      return Unexpected(
          DisruptionRefused("The disruption budget " + name + " is still being processed by the server."));
    const auto allowed = budget["status"]["disruptionsAllowed"].int_or(0);
    if (allowed <= 0)
      return Unexpected(DisruptionRefused(
          "The disruption budget " + name + " needs " +
          std::to_string(budget["status"]["desiredHealthy"].int_or(0)) + " healthy pods and has " +
          std::to_string(budget["status"]["currentHealthy"].int_or(0)) + " currently"));
    json::Value next = budget;
    next["status"]["disruptionsAllowed"] = allowed - 1;
    next["status"]["disruptedPods"][pod] = api::FormatTime(scope.now);
    return next;
  }
};

// ephemeralcontainers and resize: the pod itself, of which this endpoint may change one part.
class PodPartEndpoint final : public Endpoint {
 public:
  Task<MaybeAnswer> Handle(ServerState& state, RequestScope& scope, const net::Request& request,
                           std::shared_ptr<net::ResponseStream>) override {
    Result<Answer> answer = Unexpected(MethodNotAllowed());
    if (scope.info.verb == "get") answer = co_await HandleGet(state, scope, request);
    if (scope.info.verb == "update") answer = co_await HandleUpdate(state, scope, request);
    if (scope.info.verb == "patch") answer = co_await HandlePatch(state, scope, request);
    if (!answer) co_return Unexpected(answer.error());
    co_return std::optional(std::move(*answer));
  }
};

}  // namespace

void AddPodEndpoints(EndpointTable& table) {
  table.Add("pods/binding", std::make_unique<BindingEndpoint>());
  table.Add("bindings", std::make_unique<BindingEndpoint>());
  table.Add("pods/eviction", std::make_unique<EvictionEndpoint>());
  table.Add("pods/ephemeralcontainers", std::make_unique<PodPartEndpoint>());
  table.Add("pods/resize", std::make_unique<PodPartEndpoint>());
}

}  // namespace flyball::server
