#include "server/admission/pods/pod_node_selector.h"

#include <map>

#include "api/rules/format.h"
#include "base/values/ascii.h"
#include "json/yaml/yaml.h"
#include "server/admission/basis/requests.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

constexpr std::string_view kNodeSelectorAnnotation = "scheduler.alpha.kubernetes.io/node-selector";
constexpr std::string_view kClusterDefault = "clusterDefaultNodeSelector";

using SelectorMap = std::map<std::string, std::string, std::less<>>;

Status CheckPart(const api::Problems& problems, const std::string& part) {
  if (problems.empty()) return {};
  std::string text;
  for (const auto& problem : problems) text += (text.empty() ? "" : "; ") + problem;
  return Unexpected(PlainError("<nil>: Invalid value: \"" + part + "\": " + text));
}

// "a=b,c=d" (upstream: ConvertSelectorToLabelsMap).
Result<SelectorMap> ParseSelectorMap(std::string_view text) {
  SelectorMap out;
  if (text.empty()) return out;
  for (const auto& label : SplitText(text, ',')) {
    const auto parts = SplitText(label, '=');
    if (parts.size() != 2) {
      std::string shown;
      for (const auto& part : parts) shown += (shown.empty() ? "" : " ") + part;
      return Unexpected(PlainError("invalid selector: [" + shown + "]"));
    }
    const std::string key(Trimmed(parts[0])), value(Trimmed(parts[1]));
    FLYBALL_TRY(CheckPart(api::QualifiedNameProblems(key), key));
    FLYBALL_TRY(CheckPart(api::LabelValueFormatProblems(value), value));
    out[key] = value;
  }
  return out;
}

SelectorMap SelectorOf(const json::Value& pod) {
  SelectorMap out;
  if (const auto& selector = pod["spec"]["nodeSelector"]; selector.is_object())
    for (const auto& [key, value] : selector.as_object()) out[key] = value.string_or("");
  return out;
}

bool Disagree(const SelectorMap& a, const SelectorMap& b) {
  for (const auto& [key, value] : a)
    if (const auto other = b.find(key); other != b.end() && other->second != value) return true;
  return false;
}

bool IsWithin(const SelectorMap& part, const SelectorMap& whole) {
  if (whole.empty()) return true;
  for (const auto& [key, value] : part)
    if (const auto found = whole.find(key); found == whole.end() || found->second != value) return false;
  return true;
}

class PodNodeSelector final : public AdmissionPlugin {
 public:
  PodNodeSelector(const Catalog& catalog, SelectorMap configured)
      : namespaces_(catalog.Find("", "v1", "namespaces")), configured_(std::move(configured)) {}
  std::string_view name() const override { return "PodNodeSelector"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    FLYBALL_CO_ASSIGN(const SelectorMap wanted, SelectorOfNamespace(request.namespace_name));
    FLYBALL_CO_TRY(Check(request, wanted));
    if (wanted.empty()) co_return Status();
    auto& selector = (*request.object)["spec"]["nodeSelector"];
    if (!selector.is_object()) selector = json::Object{};
    for (const auto& [key, value] : wanted) selector[key] = value;
    co_return co_await Validate(request);
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    FLYBALL_CO_ASSIGN(const SelectorMap wanted, SelectorOfNamespace(request.namespace_name));
    FLYBALL_CO_TRY(Check(request, wanted));
    FLYBALL_CO_ASSIGN(const SelectorMap allowed, Configured(request.namespace_name));
    if (IsWithin(SelectorOf(*request.object), allowed)) co_return Status();
    co_return Unexpected(
        AdmissionForbidden(request, "pod node label selector labels conflict with its namespace whitelist"));
  }

 private:
  static Status Check(const AdmissionRequest& request, const SelectorMap& wanted) {
    if (!Disagree(wanted, SelectorOf(*request.object))) return {};
    return Unexpected(AdmissionForbidden(
        request, "pod node label selector conflicts with its namespace node label selector"));
  }

  Result<SelectorMap> Configured(std::string_view key) const {
    const auto found = configured_.find(key);
    return ParseSelectorMap(found == configured_.end() ? std::string_view{} : found->second);
  }

  Result<SelectorMap> SelectorOfNamespace(std::string_view name) const {
    const auto space = namespaces_->cache->Get(name);
    if (!space)
      return Unexpected(
          InternalError("Internal error occurred: namespace " + std::string(name) + " does not exist"));
    const auto value = space->ToValue();
    if (const auto* annotation = value["metadata"]["annotations"].Find(kNodeSelectorAnnotation))
      return ParseSelectorMap(annotation->string_or(""));
    return Configured(kClusterDefault);
  }

  const ResourcePtr namespaces_;
  const SelectorMap configured_;
};

}  // namespace

Result<std::unique_ptr<AdmissionPlugin>> NewPodNodeSelector(const Catalog& catalog,
                                                            const std::optional<std::string>& configuration) {
  SelectorMap configured;
  if (configuration) {
    const auto file = json::ParseYaml(*configuration);
    if (!file) return Unexpected(BadRequest(file.error().message()));
    if (const auto& selectors = (*file)["podNodeSelectorPluginConfig"]; selectors.is_object())
      for (const auto& [key, value] : selectors.as_object()) configured[key] = value.string_or("");
  }
  return std::unique_ptr<AdmissionPlugin>(std::make_unique<PodNodeSelector>(catalog, std::move(configured)));
}

}  // namespace flyball::server
