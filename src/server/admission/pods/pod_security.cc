#include "server/admission/pods/pod_security.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/pod_security/pod_security.h"
#include "api/rules/field_error.h"
#include "server/admission/pods/pod_security_config.h"

namespace flyball::server {
namespace {

namespace standards = api::pod_security;
using standards::Policy;

constexpr std::string_view kLabelPrefix = "pod-security.kubernetes.io/";
constexpr std::string_view kAppArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
// A namespace may hold very many pods: changing its label looks at so many (upstream's default).
constexpr std::size_t kMaxPodsChecked = 3000;

const json::Value* Label(const json::Value& labels, std::string_view mode, std::string_view suffix) {
  return labels.Find(std::string(kLabelPrefix) + std::string(mode) + std::string(suffix));
}

// What the labels do not say is as in `policy`.
Policy PolicyOf(const json::Value& labels, std::string_view mode, Policy policy, api::FieldErrors& errors) {
  const auto path = [&](std::string_view suffix) {
    return api::FieldPath("metadata.labels")
        .Key(std::string(kLabelPrefix) + std::string(mode) + std::string(suffix));
  };
  if (const auto* level = Label(labels, mode, "")) {
    const auto parsed = standards::ParseLevel(level->string_or(""));
    if (parsed) {
      policy.level = *parsed;
    } else {
      // A level nobody understands is taken for the strictest where it decides.
      policy.level = mode == "enforce" ? standards::Level::kRestricted : standards::Level::kPrivileged;
      errors.Invalid(path(""), *level, "must be one of privileged, baseline, restricted");
    }
  }
  if (const auto* version = Label(labels, mode, "-version"))
    if (!standards::ParseVersion(version->string_or(""), policy.minor))
      errors.Invalid(path("-version"), *version, "must be \"latest\" or \"v1.x\"");
  return policy;
}

PodSecurityPolicies PoliciesOf(const json::Value& space, const PodSecurityPolicies& defaults,
                               api::FieldErrors& errors) {
  const auto& labels = space["metadata"]["labels"];
  if (!labels.is_object()) return defaults;
  PodSecurityPolicies out{PolicyOf(labels, "enforce", defaults.enforce, errors),
                          PolicyOf(labels, "audit", defaults.audit, errors),
                          PolicyOf(labels, "warn", defaults.warn, errors)};
  // Who enforces more than the warnings tell of is warned of that much.
  const auto* enforced = Label(labels, "enforce", "");
  const bool sets_enforce = enforced != nullptr && standards::ParseLevel(enforced->string_or(""));
  if (sets_enforce && Label(labels, "warn", "") == nullptr && out.enforce.level > out.warn.level) {
    out.warn.level = out.enforce.level;
    if (Label(labels, "warn", "-version") == nullptr) out.warn.minor = out.enforce.minor;
  }
  return out;
}

struct TemplateRow {
  std::string_view group, plural;
  std::vector<std::string_view> path;
};

// Where workloads keep the pods they make.
const json::Value* TemplateOf(const AdmissionRequest& request) {
  static const std::array<TemplateRow, 8> kRows = {
      {{"", "podtemplates", {"template"}},
       {"", "replicationcontrollers", {"spec", "template"}},
       {"apps", "deployments", {"spec", "template"}},
       {"apps", "replicasets", {"spec", "template"}},
       {"apps", "daemonsets", {"spec", "template"}},
       {"apps", "statefulsets", {"spec", "template"}},
       {"batch", "jobs", {"spec", "template"}},
       {"batch", "cronjobs", {"spec", "jobTemplate", "spec", "template"}}}};
  for (const auto& row : kRows) {
    if (row.group != request.resource.kind->group || row.plural != request.resource.kind->plural) continue;
    const json::Value* value = request.object;
    for (const auto step : row.path) value = value ? value->Find(step) : nullptr;
    return value && value->is_object() ? value : nullptr;
  }
  return nullptr;
}

json::Value WithoutImages(const json::Value& spec) {
  json::Value containers = json::Array{};
  for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    json::Value items = spec[list];
    if (items.is_array())
      for (auto& item : items.as_array()) item.as_object().Erase("image");
    containers.as_array().push_back(std::move(items));
  }
  return containers;
}

json::Value AppArmorAnnotations(const json::Value& metadata) {
  json::Object found;
  if (const auto& annotations = metadata["annotations"]; annotations.is_object())
    for (const auto& [key, value] : annotations.as_object())
      if (key.starts_with(kAppArmorPrefix)) found.Set(key, value);
  return found;
}

// Most of a pod cannot change; only what the checks look at calls for another look.
bool IsSignificant(const AdmissionRequest& request) {
  if (!request.old_object) return true;
  const auto &now = *request.object, &before = *request.old_object;
  return !(WithoutImages(now["spec"]) == WithoutImages(before["spec"])) ||
         !(AppArmorAnnotations(now["metadata"]) == AppArmorAnnotations(before["metadata"]));
}

std::string WouldViolate(const Policy& policy, const std::vector<standards::Violation>& violations) {
  return "would violate PodSecurity \"" + policy.ToString() + "\": " + standards::Details(violations);
}

bool IsNamespaceKind(const AdmissionRequest& request) {
  return request.resource.kind->group.empty() && request.resource.kind->plural == "namespaces";
}
bool IsPodKind(const AdmissionRequest& request) {
  return request.resource.kind->group.empty() && request.resource.kind->plural == "pods";
}

class PodSecurity final : public AdmissionPlugin {
 public:
  PodSecurity(const Catalog& catalog, PodSecurityConfig config)
      : namespaces_(catalog.Find("", "v1", "namespaces")),
        pods_(catalog.Find("", "v1", "pods")),
        config_(std::move(config)) {}
  std::string_view name() const override { return "PodSecurity"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    using Operation = AdmissionRequest::Operation;
    const bool writes = request.operation == Operation::kCreate || request.operation == Operation::kUpdate;
    if (!writes || !request.object) co_return Status();
    if (IsNamespaceKind(request)) co_return request.subresource.empty() ? CheckNamespace(request) : Status();
    if (IsPodKind(request)) co_return CheckPod(request);
    if (request.subresource.empty()) CheckTemplate(request);
    co_return Status();
  }

 private:
  PodSecurityPolicies PolicyFor(std::string_view space) const {
    const auto object = namespaces_->cache->Get(space);
    if (!object || !HasPolicyLabels(*object)) return config_.defaults;
    api::FieldErrors ignored;
    return PoliciesOf(object->Parsed(), config_.defaults, ignored);
  }

  static bool HasPolicyLabels(const StoredObject& space) {
    for (const auto& [key, value] : space.labels())
      if (key.starts_with(kLabelPrefix)) return true;
    return false;
  }

  // Notes the exemption for the audit log.
  bool IsExempt(const AdmissionRequest& request, const json::Value& pod_spec) const {
    const char* why = nullptr;
    if (config_.namespaces.contains(request.namespace_name)) {
      why = "namespace";
    } else if (config_.usernames.contains(request.scope.user.name)) {
      why = "user";
    } else if (config_.runtime_classes.contains(pod_spec["runtimeClassName"].string_or(""))) {
      why = "runtimeClass";
    }
    if (why) request.scope.audit_annotations["pod-security.kubernetes.io/exempt"] = why;
    return why != nullptr;
  }

  Status CheckPod(const AdmissionRequest& request) const {
    const bool judged = request.subresource.empty() || request.subresource == "ephemeralcontainers";
    const auto& pod = *request.object;
    if (!judged || IsExempt(request, pod["spec"]) || !IsSignificant(request)) return {};
    const auto policy = PolicyFor(request.namespace_name);
    const auto enforced = standards::Evaluate(policy.enforce, pod["metadata"], pod["spec"]);
    if (!enforced.empty())
      return Unexpected(AdmissionForbidden(request, "violates PodSecurity \"" + policy.enforce.ToString() +
                                                        "\": " + standards::Details(enforced)));
    WarnAndAudit(policy, pod["metadata"], pod["spec"], request);
    return {};
  }

  void CheckTemplate(const AdmissionRequest& request) const {
    const auto* pod = TemplateOf(request);
    if (pod && !IsExempt(request, (*pod)["spec"]))
      WarnAndAudit(PolicyFor(request.namespace_name), (*pod)["metadata"], (*pod)["spec"], request);
  }

  static void WarnAndAudit(const PodSecurityPolicies& policy, const json::Value& metadata,
                           const json::Value& spec, const AdmissionRequest& request) {
    const auto warned = standards::Evaluate(policy.warn, metadata, spec);
    if (!warned.empty()) request.scope.warnings.push_back(WouldViolate(policy.warn, warned));
    const auto audited = standards::Evaluate(policy.audit, metadata, spec);
    if (!audited.empty())
      request.scope.audit_annotations["pod-security.kubernetes.io/audit-violations"] =
          WouldViolate(policy.audit, audited);
  }

  Status CheckNamespace(const AdmissionRequest& request) const {
    api::FieldErrors errors, old_errors;
    const auto policy = PoliciesOf(*request.object, config_.defaults, errors);
    const std::size_t wrong = errors.causes().size();
    if (!request.old_object) {
      if (wrong > 0) return Unexpected(errors.ToError("", "Namespace", request.name));
      if (config_.namespaces.contains(request.name)) WarnOfExemption(policy, request);
      return {};
    }
    const auto before = PoliciesOf(*request.old_object, config_.defaults, old_errors);
    // What was wrong before may stay, as upstream: a label can only be made right.
    if (wrong > 0 && old_errors.empty()) return Unexpected(errors.ToError("", "Namespace", request.name));
    const bool relaxed =
        policy.enforce.minor == before.enforce.minor && policy.enforce.level <= before.enforce.level;
    if (policy.enforce.level == standards::Level::kPrivileged || relaxed) return {};
    if (config_.namespaces.contains(request.name)) {
      WarnOfExemption(policy, request);
    } else {
      WarnOfExistingPods(policy.enforce, request);
    }
    return {};
  }

  // The labels of an exempt namespace change nothing.
  void WarnOfExemption(const PodSecurityPolicies& policy, const AdmissionRequest& request) const {
    const auto& defaults = config_.defaults;
    if (policy.enforce == defaults.enforce && policy.audit == defaults.audit && policy.warn == defaults.warn)
      return;
    const auto& labels = (*request.object)["metadata"]["labels"];
    std::string text;
    const auto add = [&](std::string_view mode, const Policy& set) {
      const bool labelled = Label(labels, mode, "") || Label(labels, mode, "-version");
      if (set.level == standards::Level::kPrivileged || !labelled) return;
      text += (text.empty() ? "" : ", ") + std::string(mode) + "=" + set.ToString();
    };
    add("enforce", policy.enforce);
    add("audit", policy.audit);
    add("warn", policy.warn);
    if (text.empty()) return;
    request.scope.warnings.push_back("namespace \"" + std::string(request.name) +
                                     "\" is exempt from Pod Security, and the policy (" + text +
                                     ") will be ignored");
  }

  void WarnOfExistingPods(const Policy& policy, const AdmissionRequest& request) const {
    struct Group {
      std::string first;
      int pods = 0;
    };
    std::map<std::string, Group> groups;
    std::set<std::string> controllers;
    std::size_t checked = 0;
    ObjectFilter filter;
    filter.namespace_name = request.name;
    for (const auto& object : pods_->cache->List(filter).objects) {
      if (++checked > kMaxPodsChecked) break;
      const auto pod = object->ToValue();
      const auto controller = ControllerOf(pod);
      if (!controller.empty() && !controllers.insert(controller).second)
        continue;  // one of each owner says it all
      const auto violations = standards::Evaluate(policy, pod["metadata"], pod["spec"]);
      if (violations.empty()) continue;
      auto& group = groups[standards::Reasons(violations)];
      if (group.pods++ == 0) group.first = object->name();
    }
    if (groups.empty()) return;
    std::set<std::string> lines;
    for (const auto& [reasons, group] : groups) {
      const int others = group.pods - 1;
      const std::string more =
          others == 0 ? ""
                      : " (and " + std::to_string(others) + (others == 1 ? " other pod)" : " other pods)");
      lines.insert(group.first + more + ": " + reasons);
    }
    auto& warnings = request.scope.warnings;
    warnings.push_back("existing pods in namespace \"" + std::string(request.name) +
                       "\" violate the new PodSecurity enforce level \"" + policy.ToString() + "\"");
    warnings.insert(warnings.end(), lines.begin(), lines.end());
  }

  static std::string ControllerOf(const json::Value& pod) {
    if (const auto& owners = pod["metadata"]["ownerReferences"]; owners.is_array())
      for (const auto& owner : owners.as_array())
        if (owner["controller"].bool_or(false)) return std::string(owner["uid"].string_or(""));
    return {};
  }

  const ResourcePtr namespaces_, pods_;
  const PodSecurityConfig config_;
};

}  // namespace

Result<std::unique_ptr<AdmissionPlugin>> NewPodSecurity(const Catalog& catalog,
                                                        const std::optional<std::string>& configuration) {
  FLYBALL_ASSIGN(PodSecurityConfig config, ReadPodSecurityConfig(configuration));
  return std::unique_ptr<AdmissionPlugin>(std::make_unique<PodSecurity>(catalog, std::move(config)));
}

}  // namespace flyball::server
