#include "server/admission/admission_plugins.h"

#include <optional>

#include "server/admission/basis/admission_configuration.h"
#include "server/admission/certificates.h"
#include "server/admission/device_claims.h"
#include "server/admission/event_rate_limit.h"
#include "server/admission/namespaces.h"
#include "server/admission/node_restriction.h"
#include "server/admission/optional_plugins.h"
#include "server/admission/owner_references.h"
#include "server/admission/pods/bound_pods.h"
#include "server/admission/pods/image_policy.h"
#include "server/admission/pods/limit_ranger.h"
#include "server/admission/pods/optional_pod_plugins.h"
#include "server/admission/pods/pod_defaults.h"
#include "server/admission/pods/pod_node_selector.h"
#include "server/admission/pods/pod_security.h"
#include "server/admission/pods/pod_toleration_restriction.h"
#include "server/admission/pods/runtime_class.h"
#include "server/admission/pods/service_account.h"
#include "server/admission/policy/mutating_policies.h"
#include "server/admission/policy/param_access.h"
#include "server/admission/policy/validating_policies.h"
#include "server/admission/rbac_escalation.h"
#include "server/admission/resource_quota.h"
#include "server/admission/webhooks/webhook_plugins.h"

namespace flyball::server {
namespace {

using PluginPtr = std::unique_ptr<AdmissionPlugin>;

// What one plugin is made from.
struct Making {
  const AdmissionParts& parts;
  const AdmissionOptions& options;
  std::optional<std::string> configuration;  // its own

  WebhookNeeds ForWebhooks() const {
    return {parts.catalog,         parts.authorizer, parts.webhook_caller,
            parts.webhooks.random, parts.metrics,    parts.webhooks.executor.clock()};
  }
};

using Make = Result<PluginPtr> (*)(const Making& making);
enum class Default : std::uint8_t { kOn, kOff };

struct PluginRow {
  std::string_view name;
  Default by_default;
  Make make;  // null: the name is known, the plugin is not there (docs/server.md)
};

// kube-apiserver's order (AllOrderedPlugins): it decides what later plugins see.
const PluginRow kPlugins[] = {
    {"AlwaysAdmit", Default::kOff, [](const Making&) -> Result<PluginPtr> { return NewAlwaysAdmit(); }},
    {"NamespaceAutoProvision", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> {
       return NewNamespaceAutoProvision(m.parts.catalog, m.parts.access);
     }},
    {"NamespaceLifecycle", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewNamespaceLifecycle(m.parts.catalog); }},
    {"NamespaceExists", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> { return NewNamespaceExists(m.parts.catalog); }},
    {"LimitPodHardAntiAffinityTopology", Default::kOff,
     [](const Making&) -> Result<PluginPtr> { return NewLimitPodHardAntiAffinityTopology(); }},
    {"LimitRanger", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewLimitRanger(m.parts.catalog); }},
    {"ServiceAccount", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> {
       return NewServiceAccountAdmission(m.parts.catalog, m.parts.webhooks.random);
     }},
    {"NodeRestriction", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> {
       return NewNodeRestriction(m.parts.catalog, m.parts.authorizer);
     }},
    {"TaintNodesByCondition", Default::kOn,
     [](const Making&) -> Result<PluginPtr> { return NewTaintNodesByCondition(); }},
    {"AlwaysPullImages", Default::kOff,
     [](const Making&) -> Result<PluginPtr> { return NewAlwaysPullImages(); }},
    {"ImagePolicyWebhook", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> {
       return NewImagePolicyWebhook(m.parts.webhooks, m.configuration);
     }},
    {"PodSecurity", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewPodSecurity(m.parts.catalog, m.configuration); }},
    {"PodNodeSelector", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> {
       return NewPodNodeSelector(m.parts.catalog, m.configuration);
     }},
    {"Priority", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewPriorityAdmission(m.parts.catalog); }},
    {"DefaultTolerationSeconds", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> {
       return NewDefaultTolerationSeconds(m.options.toleration_seconds);
     }},
    {"PodTolerationRestriction", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> {
       return NewPodTolerationRestriction(m.parts.catalog, m.configuration);
     }},
    {"EventRateLimit", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> {
       return NewEventRateLimit(m.parts.webhooks.executor.clock(), m.configuration);
     }},
    {"ExtendedResourceToleration", Default::kOff,
     [](const Making&) -> Result<PluginPtr> { return NewExtendedResourceToleration(); }},
    {"DefaultStorageClass", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewDefaultStorageClass(m.parts.catalog); }},
    {"StorageObjectInUseProtection", Default::kOn,
     [](const Making&) -> Result<PluginPtr> { return NewStorageObjectInUseProtection(); }},
    {"PodGroupProtection", Default::kOn,
     [](const Making&) -> Result<PluginPtr> { return NewPodGroupProtection(); }},
    {"OwnerReferencesPermissionEnforcement", Default::kOff,
     [](const Making& m) -> Result<PluginPtr> {
       return NewOwnerReferencesPermissionEnforcement(m.parts.catalog, m.parts.authorizer);
     }},
    {"PersistentVolumeClaimResize", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewPersistentVolumeClaimResize(m.parts.catalog); }},
    {"RuntimeClass", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewRuntimeClassAdmission(m.parts.catalog); }},
    {"CertificateApproval", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewCertificateApproval(m.parts.authorizer); }},
    {"CertificateSigning", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewCertificateSigning(m.parts.authorizer); }},
    {"ClusterTrustBundleAttest", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewClusterTrustBundleAttest(m.parts.authorizer); }},
    {"CertificateSubjectRestriction", Default::kOn,
     [](const Making&) -> Result<PluginPtr> { return NewCertificateSubjectRestriction(); }},
    {"DefaultIngressClass", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewDefaultIngressClass(m.parts.catalog); }},
    {"DenyServiceExternalIPs", Default::kOff,
     [](const Making&) -> Result<PluginPtr> { return NewDenyServiceExternalIPs(); }},
    {"PodTopologyLabels", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewPodTopologyLabels(m.parts.catalog); }},
    {"NodeDeclaredFeatureValidator", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewNodeDeclaredFeatureValidator(m.parts.catalog); }},
    {"PodResizeValidator", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewPodResizeValidator(m.parts.catalog); }},
    {"MutatingAdmissionPolicy", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> {
       return NewMutatingPolicies(m.parts.catalog, m.parts.authorizer, m.parts.metrics);
     }},
    {"MutatingAdmissionWebhook", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewMutatingAdmissionWebhook(m.ForWebhooks()); }},
    {"ValidatingAdmissionPolicy", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> {
       return NewValidatingPolicies(m.parts.catalog, m.parts.authorizer, m.parts.metrics);
     }},
    {"ValidatingAdmissionWebhook", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> { return NewValidatingAdmissionWebhook(m.ForWebhooks()); }},
    {"ResourceQuota", Default::kOn,
     [](const Making& m) -> Result<PluginPtr> {
       return NewResourceQuotaAdmission(m.parts.catalog, m.parts.access, m.configuration);
     }},
    {"AlwaysDeny", Default::kOff, [](const Making&) -> Result<PluginPtr> { return NewAlwaysDeny(); }},
};

const PluginRow* FindPlugin(std::string_view name) {
  for (const auto& row : kPlugins)
    if (row.name == name) return &row;
  return nullptr;
}

Status CheckNames(std::string_view flag, const std::set<std::string>& names) {
  for (const auto& name : names)
    if (!FindPlugin(name))
      return Unexpected(BadRequest(std::string(flag) + " plugin \"" + name + "\" is unknown"));
  return {};
}

Status CheckOptions(const AdmissionOptions& options) {
  FLYBALL_TRY(CheckNames("enable-admission-plugins", options.enable));
  FLYBALL_TRY(CheckNames("disable-admission-plugins", options.disable));
  for (const auto& name : options.enable) {
    if (options.disable.contains(name))
      return Unexpected(
          BadRequest("[" + name + "] in enable-admission-plugins and disable-admission-plugins overlapped"));
    const auto& row = *FindPlugin(name);
    // Those that are on upstream anyway may be named; nobody should believe that another is at work.
    if (!row.make && row.by_default == Default::kOff)
      return Unexpected(
          BadRequest("enable-admission-plugins plugin \"" + name + "\" is not part of this server"));
  }
  return {};
}

}  // namespace

Result<std::vector<std::unique_ptr<AdmissionPlugin>>> AdmissionPlugins(const AdmissionOptions& options,
                                                                       const AdmissionParts& parts) {
  FLYBALL_TRY(CheckOptions(options));
  AdmissionConfiguration configuration;
  if (!options.config_file.empty()) {
    FLYBALL_ASSIGN(configuration, AdmissionConfiguration::Read(options.config_file));
  }
  std::vector<PluginPtr> plugins;
  for (const auto& row : kPlugins) {
    const std::string name(row.name);
    const bool on = row.by_default == Default::kOn || options.enable.contains(name);
    if (!row.make || !on || options.disable.contains(name)) continue;
    FLYBALL_ASSIGN(auto own, configuration.For(name));
    auto plugin = row.make({parts, options, std::move(own)});
    if (!plugin)
      return Unexpected(
          BadRequest("couldn't init admission plugin \"" + name + "\": " + plugin.error().message()));
    plugins.push_back(std::move(*plugin));
  }
  // Rules of the registry upstream: they cannot be switched off.
  plugins.push_back(NewDeviceClaimCheck(parts.catalog, parts.authorizer));
  plugins.push_back(NewRbacEscalationCheck(parts.catalog, parts.authorizer));
  plugins.push_back(NewParamAccessCheck(parts.catalog, parts.authorizer));
  return plugins;
}

}  // namespace flyball::server
