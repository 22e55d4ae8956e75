#include "server/admission/admission_plugins.h"

#include <functional>

#include "server/admission/certificates.h"
#include "server/admission/limit_ranger.h"
#include "server/admission/namespace_lifecycle.h"
#include "server/admission/node_restriction.h"
#include "server/admission/optional_plugins.h"
#include "server/admission/pod_defaults.h"
#include "server/admission/pod_security.h"
#include "server/admission/policy/mutating_policies.h"
#include "server/admission/policy/param_access.h"
#include "server/admission/policy/validating_policies.h"
#include "server/admission/rbac_escalation.h"
#include "server/admission/runtime_class.h"
#include "server/admission/service_account.h"

namespace flyball::server {
namespace {

struct Needs {
  const Catalog& catalog;
  const Authorizer& authorizer;
  const QuotaCharging& charging;
  Random& random;
  Metrics& metrics;
};

using Make = std::unique_ptr<AdmissionPlugin> (*)(const Needs& needs);
enum class Default : std::uint8_t { kOn, kOff };

struct PluginRow {
  std::string_view name;
  Default by_default;
  Make make;  // null: the name is known, the plugin is not there (docs/server.md)
};

// kube-apiserver's order: it decides what later plugins see.
const PluginRow kPlugins[] = {
    {"AlwaysAdmit", Default::kOff, [](const Needs&) { return NewAlwaysAdmit(); }},
    {"NamespaceAutoProvision", Default::kOff, nullptr},
    {"NamespaceLifecycle", Default::kOn, [](const Needs& n) { return NewNamespaceLifecycle(n.catalog); }},
    {"NamespaceExists", Default::kOff, nullptr},
    {"LimitPodHardAntiAffinityTopology", Default::kOff,
     [](const Needs&) { return NewLimitPodHardAntiAffinityTopology(); }},
    {"LimitRanger", Default::kOn, [](const Needs& n) { return NewLimitRanger(n.catalog); }},
    {"ServiceAccount", Default::kOn,
     [](const Needs& n) { return NewServiceAccountAdmission(n.catalog, n.random); }},
    {"NodeRestriction", Default::kOff,
     [](const Needs& n) { return NewNodeRestriction(n.catalog, n.authorizer); }},
    {"TaintNodesByCondition", Default::kOn, [](const Needs&) { return NewTaintNodesByCondition(); }},
    {"AlwaysPullImages", Default::kOff, [](const Needs&) { return NewAlwaysPullImages(); }},
    {"ImagePolicyWebhook", Default::kOff, nullptr},
    {"PodSecurity", Default::kOn, [](const Needs& n) { return NewPodSecurity(n.catalog); }},
    {"PodNodeSelector", Default::kOff, nullptr},
    {"Priority", Default::kOn, [](const Needs& n) { return NewPriorityAdmission(n.catalog); }},
    {"DefaultTolerationSeconds", Default::kOn, [](const Needs&) { return NewDefaultTolerationSeconds(); }},
    {"PodTolerationRestriction", Default::kOff, nullptr},
    {"EventRateLimit", Default::kOff, nullptr},
    {"ExtendedResourceToleration", Default::kOff,
     [](const Needs&) { return NewExtendedResourceToleration(); }},
    {"DefaultStorageClass", Default::kOn, [](const Needs& n) { return NewDefaultStorageClass(n.catalog); }},
    {"StorageObjectInUseProtection", Default::kOn,
     [](const Needs&) { return NewStorageObjectInUseProtection(); }},
    {"OwnerReferencesPermissionEnforcement", Default::kOff, nullptr},
    {"PersistentVolumeClaimResize", Default::kOn,
     [](const Needs& n) { return NewPersistentVolumeClaimResize(n.catalog); }},
    {"RuntimeClass", Default::kOn, [](const Needs& n) { return NewRuntimeClassAdmission(n.catalog); }},
    {"CertificateApproval", Default::kOn,
     [](const Needs& n) { return NewCertificateApproval(n.authorizer); }},
    {"CertificateSigning", Default::kOn, [](const Needs& n) { return NewCertificateSigning(n.authorizer); }},
    {"ClusterTrustBundleAttest", Default::kOn, nullptr},
    {"CertificateSubjectRestriction", Default::kOn,
     [](const Needs&) { return NewCertificateSubjectRestriction(); }},
    {"DefaultIngressClass", Default::kOn, [](const Needs& n) { return NewDefaultIngressClass(n.catalog); }},
    {"PodTopologyLabels", Default::kOn, nullptr},
    {"DenyServiceExternalIPs", Default::kOff, [](const Needs&) { return NewDenyServiceExternalIPs(); }},
    {"MutatingAdmissionPolicy", Default::kOn,
     [](const Needs& n) { return NewMutatingPolicies(n.catalog, n.authorizer, n.metrics); }},
    {"MutatingAdmissionWebhook", Default::kOn, nullptr},
    {"ValidatingAdmissionPolicy", Default::kOn,
     [](const Needs& n) { return NewValidatingPolicies(n.catalog, n.authorizer, n.metrics); }},
    {"ValidatingAdmissionWebhook", Default::kOn, nullptr},
    {"ResourceQuota", Default::kOn,
     [](const Needs& n) { return NewResourceQuotaAdmission(n.catalog, n.charging); }},
    {"AlwaysDeny", Default::kOff, [](const Needs&) { return NewAlwaysDeny(); }},
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
                                                                       const Catalog& catalog,
                                                                       const Authorizer& authorizer,
                                                                       const QuotaCharging& charging,
                                                                       Random& random, Metrics& metrics) {
  FLYBALL_TRY(CheckOptions(options));
  const Needs needs{catalog, authorizer, charging, random, metrics};
  std::vector<std::unique_ptr<AdmissionPlugin>> plugins;
  for (const auto& row : kPlugins) {
    const std::string name(row.name);
    const bool on = row.by_default == Default::kOn || options.enable.contains(name);
    if (row.make && on && !options.disable.contains(name)) plugins.push_back(row.make(needs));
  }
  // Rules of the registry upstream: they cannot be switched off.
  plugins.push_back(NewRbacEscalationCheck(catalog, authorizer));
  plugins.push_back(NewParamAccessCheck(catalog, authorizer));
  return plugins;
}

}  // namespace flyball::server
