#include "cli/kustomize/resource/resource_id.h"

#include <algorithm>
#include <array>

#include "api/values/go_text.h"

namespace flyball::cli::kustomize {
namespace {

constexpr std::string_view kNoNamespace = "_non_namespaceable_";

struct VersionedKind {
  std::string_view api_version, kind;
};

// The kinds that kustomize knows to be cluster-scoped: those of Kubernetes v1.21. Younger ones count as
// namespaced there, and so here: the output is the same.
constexpr VersionedKind kClusterScoped[] = {
    {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"},
    {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"},
    {"admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration"},
    {"admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration"},
    {"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
    {"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"},
    {"apiregistration.k8s.io/v1", "APIService"},
    {"apiregistration.k8s.io/v1beta1", "APIService"},
    {"certificates.k8s.io/v1", "CertificateSigningRequest"},
    {"certificates.k8s.io/v1beta1", "CertificateSigningRequest"},
    {"flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema"},
    {"flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration"},
    {"networking.k8s.io/v1", "IngressClass"},
    {"networking.k8s.io/v1beta1", "IngressClass"},
    {"node.k8s.io/v1", "RuntimeClass"},
    {"node.k8s.io/v1beta1", "RuntimeClass"},
    {"policy/v1beta1", "PodSecurityPolicy"},
    {"rbac.authorization.k8s.io/v1", "ClusterRole"},
    {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"},
    {"rbac.authorization.k8s.io/v1beta1", "ClusterRole"},
    {"rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding"},
    {"scheduling.k8s.io/v1", "PriorityClass"},
    {"scheduling.k8s.io/v1beta1", "PriorityClass"},
    {"storage.k8s.io/v1", "CSIDriver"},
    {"storage.k8s.io/v1", "CSINode"},
    {"storage.k8s.io/v1", "StorageClass"},
    {"storage.k8s.io/v1", "VolumeAttachment"},
    {"storage.k8s.io/v1beta1", "CSIDriver"},
    {"storage.k8s.io/v1beta1", "CSINode"},
    {"storage.k8s.io/v1beta1", "StorageClass"},
    {"storage.k8s.io/v1beta1", "VolumeAttachment"},
    {"v1", "ComponentStatus"},
    {"v1", "Namespace"},
    {"v1", "Node"},
    {"v1", "NodeProxyOptions"},
    {"v1", "PersistentVolume"},
};

constexpr std::string_view kFirst[] = {"Namespace",
                                       "ResourceQuota",
                                       "StorageClass",
                                       "CustomResourceDefinition",
                                       "ServiceAccount",
                                       "PodSecurityPolicy",
                                       "Role",
                                       "ClusterRole",
                                       "RoleBinding",
                                       "ClusterRoleBinding",
                                       "ConfigMap",
                                       "Secret",
                                       "Endpoints",
                                       "Service",
                                       "LimitRange",
                                       "PriorityClass",
                                       "PersistentVolume",
                                       "PersistentVolumeClaim",
                                       "Deployment",
                                       "StatefulSet",
                                       "CronJob",
                                       "PodDisruptionBudget"};
constexpr std::string_view kLast[] = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"};

std::string Or(const std::string& text, std::string_view fallback) {
  return text.empty() ? std::string(fallback) : text;
}

}  // namespace

std::string Gvk::ApiVersion() const {
  return group.empty() ? version : group + "/" + version;
}

std::string Gvk::ToString() const {
  return Or(kind, "[noKind]") + "." + Or(version, "[noVer]") + "." + Or(group, "[noGrp]");
}

std::string Gvk::SortText() const {
  return Or(group, "~G") + "_" + Or(version, "~V") + "_" + Or(kind, "~K");
}

bool Gvk::IsSelectedBy(const Gvk& selector) const {
  const auto fits = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  return fits(selector.group, group) && fits(selector.version, version) && fits(selector.kind, kind);
}

bool Gvk::IsClusterScoped() const {
  const std::string api_version = ApiVersion();
  return std::any_of(std::begin(kClusterScoped), std::end(kClusterScoped), [&](const VersionedKind& known) {
    return known.kind == kind && known.api_version == api_version;
  });
}

Gvk GvkOf(std::string_view api_version, std::string_view kind) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", std::string(api_version), std::string(kind)};
  return {std::string(api_version.substr(0, slash)), std::string(api_version.substr(slash + 1)),
          std::string(kind)};
}

std::string ResourceId::EffectiveNamespace() const {
  if (gvk.IsClusterScoped()) return std::string(kNoNamespace);
  return ns.empty() ? "default" : ns;
}

bool ResourceId::IsSame(const ResourceId& other) const {
  return name == other.name && gvk == other.gvk && EffectiveNamespace() == other.EffectiveNamespace();
}

bool ResourceId::IsSelectedBy(const ResourceId& selector) const {
  return (selector.name.empty() || selector.name == name) &&
         (selector.ns.empty() || selector.EffectiveNamespace() == EffectiveNamespace()) &&
         gvk.IsSelectedBy(selector.gvk);
}

std::string ResourceId::ToString() const {
  return gvk.ToString() + "/" + Or(name, "[noName]") + "." + Or(ns, "[noNs]");
}

std::string ResourceId::GoText() const {
  return "resid.ResId{Gvk:resid.Gvk{Group:" + api::GoQuote(gvk.group) +
         ", Version:" + api::GoQuote(gvk.version) + ", Kind:" + api::GoQuote(gvk.kind) +
         ", isClusterScoped:" + (gvk.IsClusterScoped() ? "true" : "false") + "}, Name:" + api::GoQuote(name) +
         ", Namespace:" + api::GoQuote(ns) + "}";
}

int KindRank(std::string_view kind) {
  const auto* first = std::find(std::begin(kFirst), std::end(kFirst), kind);
  if (first != std::end(kFirst)) return static_cast<int>(first - std::end(kFirst));
  const auto* last = std::find(std::begin(kLast), std::end(kLast), kind);
  return last == std::end(kLast) ? 0 : 1 + static_cast<int>(last - std::begin(kLast));
}

bool ComesBefore(const Gvk& a, const Gvk& b) {
  const int rank_a = KindRank(a.kind), rank_b = KindRank(b.kind);
  return rank_a != rank_b ? rank_a < rank_b : a.SortText() < b.SortText();
}

}  // namespace flyball::cli::kustomize
