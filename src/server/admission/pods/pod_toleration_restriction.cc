#include "server/admission/pods/pod_toleration_restriction.h"

#include "api/kinds/pod/pod_update.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "json/json.h"
#include "server/admission/basis/requests.h"
#include "server/admission/pods/tolerations.h"
#include "server/config/strict_object.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

constexpr std::string_view kDefaultTolerations = "scheduler.alpha.kubernetes.io/defaultTolerations";
constexpr std::string_view kAllowedTolerations = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

struct TolerationLists {
  json::Value defaults, allowed;
};

class PodTolerationRestriction final : public AdmissionPlugin {
 public:
  PodTolerationRestriction(const Catalog& catalog, TolerationLists configured)
      : namespaces_(catalog.Find("", "v1", "namespaces")), configured_(std::move(configured)) {}
  std::string_view name() const override { return "PodTolerationRestriction"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!WritesPod(request)) co_return Status();
    auto& spec = (*request.object)["spec"];
    json::Value extra = json::Array{};
    if (request.operation == AdmissionRequest::Operation::kCreate) {
      FLYBALL_CO_ASSIGN(auto own, ListOf(request.namespace_name, kDefaultTolerations));
      if (const auto& chosen = own ? *own : configured_.defaults; chosen.is_array()) extra = chosen;
    }
    // Pods of the better classes may run where memory is short.
    if (api::PodQosClass(spec) != "BestEffort")
      extra.as_array().push_back(json::Object{
          {"key", "node.kubernetes.io/memory-pressure"}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
    if (!extra.as_array().empty()) spec["tolerations"] = MergeTolerations(spec["tolerations"], extra);
    co_return co_await Validate(request);
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!WritesPod(request)) co_return Status();
    const auto& tolerations = std::as_const(*request.object)["spec"]["tolerations"];
    if (tolerations.empty()) co_return Status();
    FLYBALL_CO_ASSIGN(const auto own, ListOf(request.namespace_name, kAllowedTolerations));
    if (ToleratesOnly(tolerations, own ? *own : configured_.allowed)) co_return Status();
    co_return Unexpected(PlainError(
        std::string(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its ") +
        (own ? "namespace" : "cluster") + " whitelist"));
  }

 private:
  // The list in the namespace's annotation; nothing if it has none.
  Result<std::optional<json::Value>> ListOf(std::string_view name, std::string_view annotation) const {
    const auto space = namespaces_->cache->Get(name);
    if (!space) return Unexpected(NotFound(*namespaces_->kind, name));
    const auto value = space->ToValue();
    const auto* text = value["metadata"]["annotations"].Find(annotation);
    if (!text) return std::optional<json::Value>();
    if (text->string_or("").empty()) return std::optional<json::Value>(json::Array{});
    auto list = json::Parse(text->string_or(""));
    if (!list) return Unexpected(PlainError(list.error().message()));
    if (!list->is_array())
      return Unexpected(PlainError("json: cannot unmarshal object into Go value of type []v1.Toleration"));
    return std::optional<json::Value>(std::move(*list));
  }

  const ResourcePtr namespaces_;
  const TolerationLists configured_;
};

Result<TolerationLists> ReadTolerationLists(const std::string& text) {
  FLYBALL_ASSIGN(
      const json::Value file,
      ParseStrictObject(text, {"podtolerationrestriction.admission.k8s.io/v1alpha1"}, "Configuration"));
  TolerationLists lists{file["default"], file["whitelist"]};
  api::FieldErrors errors;
  const api::FieldPath root("podtolerationrestriction");
  if (lists.defaults.is_array()) api::ValidateTolerations(lists.defaults, root.Child("default"), errors);
  if (lists.allowed.is_array()) api::ValidateTolerations(lists.allowed, root.Child("whitelist"), errors);
  if (!errors.empty()) return Unexpected(BadRequest("invalid config: " + AggregateText(errors)));
  return lists;
}

}  // namespace

Result<std::unique_ptr<AdmissionPlugin>> NewPodTolerationRestriction(
    const Catalog& catalog, const std::optional<std::string>& configuration) {
  TolerationLists configured;
  if (configuration) {
    FLYBALL_ASSIGN(configured, ReadTolerationLists(*configuration));
  }
  return std::unique_ptr<AdmissionPlugin>(
      std::make_unique<PodTolerationRestriction>(catalog, std::move(configured)));
}

}  // namespace flyball::server
