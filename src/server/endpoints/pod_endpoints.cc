#include "server/endpoints/pod_endpoints.h"

#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "api/select/selector.h"
#include "api/values/time.h"
#include "json/json.h"
#include "server/forward/pod_ready.h"
#include "server/handlers/read_handlers.h"
#include "server/handlers/subresource_admission.h"
#include "server/handlers/write_handlers.h"
#include "server/registry/object_codec.h"
#include "server/registry/patch.h"
#include "server/registry/write_options.h"
#include "server/request/api_errors.h"

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

Status CheckPodName(const json::Value& body, std::string_view pod, const char* kind) {
  if (body["metadata"]["name"].string_or("") == pod) return {};
  return Unexpected(BadRequest(std::string("name in URL does not match name in ") + kind + " object"));
}

class BindingEndpoint final : public Endpoint {
 public:
  Task<MaybeAnswer> Handle(ServerState& state, RequestScope& scope, const net::Request& request,
                           std::shared_ptr<net::ResponseStream>) override {
    FLYBALL_CO_TRY(ReadWriteOptions(scope, "CreateOptions"));
    const auto* type = api::FindType("io.k8s.api.core.v1.Binding");
    FLYBALL_CO_ASSIGN(json::Value binding, DecodeBody(scope, *type, "v1", "Binding",
                                                      request.headers.Get("content-type"), request.body));
    const std::string pod =
        scope.info.name.empty() ? std::string(binding["metadata"]["name"].string_or("")) : scope.info.name;
    if (pod.empty()) co_return Unexpected(BadRequest("Name parameter required."));
    FLYBALL_CO_TRY(CheckPodName(binding, pod, "Binding"));
    FLYBALL_CO_TRY(co_await AdmitSubresource(state, scope, binding));
    FLYBALL_CO_TRY(Check(binding));
    const auto pods = Pods(state);
    Registry::Transform transform = [&](const json::Value& current) {
      return Bind(scope, binding, pod, current);
    };
    UpdateOptions options;
    options.subresource = "binding";
    options.track_fields = false;  // who binds owns nothing of the pod
    options.conflict_retries = true;
    options.skip_admission = true;  // the binding has been through it
    FLYBALL_CO_TRY(co_await state.registry.Update(scope, *pods, scope.info.namespace_name, pod,
                                                  std::move(transform), std::move(options)));
    co_return std::optional(Succeeded());
  }

 private:
  static Status Check(const json::Value& binding) {
    api::FieldErrors errors;
    const auto kind = binding["target"]["kind"].string_or("");
    if (!kind.empty() && kind != "Node")
      errors.NotSupported(api::FieldPath("target.kind"), kind, {"Node", "<empty>"});
    const api::FieldPath path("target.name");
    const auto node = binding["target"]["name"].string_or("");
    if (node.empty()) {
      errors.Required(path);
    } else {
      for (const auto& problem : api::DnsSubdomainProblems(node)) errors.Invalid(path, node, problem);
    }
    // Upstream has no strategy for bindings: what is wrong becomes a plain error.
    std::string message;
    for (const Cause& cause : errors.causes())
      message += (message.empty() ? "" : ", ") + cause.field + ": " + cause.message;
    if (errors.empty()) return {};
    return Unexpected(
        Error(Reason::kUnknown, 500, errors.causes().size() > 1 ? "[" + message + "]" : std::move(message)));
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

constexpr char kEvictionRefused[] = "Cannot evict pod as it would violate the pod's disruption budget.";

// Soon it may be known better: clients are told when to ask again.
Error BudgetNotReady(const std::string& budget) {
  const std::string why = "The disruption budget " + budget + " is still being processed by the server.";
  return Error(Reason::kTooManyRequests, 429, kEvictionRefused,
               {.causes = {{"DisruptionBudget", why, ""}}, .retry_after_seconds = 10});
}

// Nobody knows when it will be otherwise: clients ask again when they like (kubectl drain every 5 s).
Error BudgetSpent(const std::string& name, const json::Value& status) {
  const std::string why = "The disruption budget " + name + " needs " +
                          std::to_string(status["desiredHealthy"].int_or(0)) + " healthy pods and has " +
                          std::to_string(status["currentHealthy"].int_or(0)) + " currently";
  return Error(Reason::kTooManyRequests, 429, kEvictionRefused, {.causes = {{"DisruptionBudget", why, ""}}});
}

// Evicting asks the pod's disruption budget first and tells it, and tells the pod.
class EvictionEndpoint final : public Endpoint {
 public:
  Task<MaybeAnswer> Handle(ServerState& state, RequestScope& scope, const net::Request& request,
                           std::shared_ptr<net::ResponseStream>) override {
    FLYBALL_CO_TRY(ReadWriteOptions(scope, "CreateOptions"));
    const auto* type = api::FindType("io.k8s.api.policy.v1.Eviction");
    const AcceptsVersion older = [](std::string_view version) { return version == "policy/v1beta1"; };
    FLYBALL_CO_ASSIGN(json::Value eviction,
                      DecodeBody(scope, *type, "policy/v1", "Eviction", request.headers.Get("content-type"),
                                 request.body, older));
    FLYBALL_CO_TRY(CheckPodName(eviction, scope.info.name, "Eviction"));
    const auto pods = Pods(state);
    const auto pod = pods->cache->Get(ServedResource::CacheKey(scope.info.namespace_name, scope.info.name));
    if (!pod) co_return Unexpected(NotFound(*pods->kind, scope.info.name));
    FLYBALL_CO_TRY(co_await AdmitSubresource(state, scope, eviction));
    const DeleteOptions options = OptionsOf(eviction, scope);
    const json::Value value = pod->ToValue();
    if (NeedsBudget(value)) FLYBALL_CO_TRY(co_await SpendBudget(state, scope, value, options.dry_run));
    if (!options.dry_run) FLYBALL_CO_TRY(co_await Announce(state, scope, *pods, options));
    FLYBALL_CO_TRY(
        co_await state.registry.Delete(scope, *pods, scope.info.namespace_name, scope.info.name, options));
    co_return std::optional(Succeeded());
  }

 private:
  static DeleteOptions OptionsOf(const json::Value& eviction, const RequestScope& scope) {
    DeleteOptions options;
    const auto& given = eviction["deleteOptions"];
    if (const auto* grace = given.Find("gracePeriodSeconds"); grace && grace->is_int())
      options.grace_seconds = grace->as_int();
    if (const auto uid = given["preconditions"]["uid"].string_or(""); !uid.empty())
      options.uid = std::string(uid);
    options.dry_run = scope.dry_run || !given["dryRun"].empty();
    options.skip_admission = true;  // the eviction has been through it
    return options;
  }

  static bool NeedsBudget(const json::Value& pod) {
    const auto phase = pod["status"]["phase"].string_or("");
    return phase != "Succeeded" && phase != "Failed" && phase != "Pending" &&
           pod["metadata"]["deletionTimestamp"].is_null();
  }

  // The condition that says why the pod goes. Not a client's write: nobody comes to own it.
  static Task<Status> Announce(ServerState& state, RequestScope& scope, const ServedResource& pods,
                               const DeleteOptions& wanted) {
    Registry::Transform transform = [&](const json::Value& pod) -> Result<json::Value> {
      // Another of the same name: whoever deletes it says so.
      if (wanted.uid && *wanted.uid != pod["metadata"]["uid"].string_or("")) return pod;
      json::Value next = pod;
      SetCondition(next["status"], json::Object{{"type", "DisruptionTarget"},
                                                {"observedGeneration", pod["metadata"]["generation"]},
                                                {"status", "True"},
                                                {"lastProbeTime", nullptr},
                                                {"lastTransitionTime", api::FormatTime(scope.now)},
                                                {"reason", "EvictionByEvictionAPI"},
                                                {"message", "Eviction API: evicting"}});
      return next;
    };
    UpdateOptions options;
    options.subresource = "status";
    options.conflict_retries = true;
    options.track_fields = false;
    options.skip_admission = true;
    FLYBALL_CO_TRY(co_await state.registry.Update(scope, pods, scope.info.namespace_name, scope.info.name,
                                                  std::move(transform), std::move(options)));
    co_return Status();
  }

  static Task<Status> SpendBudget(ServerState& state, RequestScope& scope, const json::Value& pod,
                                  bool dry_run) {
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
    const json::Value budget = matching[0]->ToValue();
    if (CostsNothing(pod, budget)) co_return Status();
    if (dry_run) {
      FLYBALL_CO_TRY(Spend(scope, "", budget));
      co_return Status();
    }
    const std::string pod_name(pod["metadata"]["name"].string_or(""));
    Registry::Transform transform = [&](const json::Value& now) { return Spend(scope, pod_name, now); };
    UpdateOptions options;
    options.subresource = "status";
    options.conflict_retries = true;
    options.skip_admission = true;  // not the caller's write
    FLYBALL_CO_TRY(co_await state.registry.Update(scope, *budgets, scope.info.namespace_name,
                                                  matching[0]->name(), std::move(transform),
                                                  std::move(options)));
    co_return Status();
  }

  // A pod that is not ready is none of those the budget counts on.
  static bool CostsNothing(const json::Value& pod, const json::Value& budget) {
    if (IsPodReady(pod)) return false;
    if (budget["spec"]["unhealthyPodEvictionPolicy"].string_or("") == "AlwaysAllow") return true;
    const auto desired = budget["status"]["desiredHealthy"].int_or(0);
    return desired > 0 && budget["status"]["currentHealthy"].int_or(0) >= desired;
  }
  static Result<json::Value> Spend(const RequestScope& scope, const std::string& pod,
                                   const json::Value& budget) {
    const std::string name(budget["metadata"]["name"].string_or(""));
    const json::Value& status = budget["status"];
    if (status["observedGeneration"].int_or(0) < budget["metadata"]["generation"].int_or(0))
      return Unexpected(BudgetNotReady(name));
    const auto allowed = status["disruptionsAllowed"].int_or(0);
    if (allowed <= 0) return Unexpected(BudgetSpent(name, status));
    json::Value next = budget;
    next["status"]["disruptionsAllowed"] = allowed - 1;
    next["status"]["disruptedPods"][pod] = api::FormatTime(scope.now);
    if (allowed == 1)
      SetCondition(next["status"], json::Object{{"type", "DisruptionAllowed"},
                                                {"status", "False"},
                                                {"observedGeneration", status["observedGeneration"]},
                                                {"lastTransitionTime", api::FormatTime(scope.now)},
                                                {"reason", "InsufficientPods"},
                                                {"message", ""}});
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
