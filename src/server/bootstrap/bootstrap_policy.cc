// The roles and bindings every cluster starts with (upstream:
// plugin/pkg/auth/authorizer/rbac/bootstrappolicy). The notation of rules is in bootstrap_roles.h.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/ascii.h"
#include "server/bootstrap/bootstrap_roles.h"

namespace flyball::server {
namespace {

constexpr std::string_view kPolicyGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kPolicyVersion = "rbac.authorization.k8s.io/v1";

struct BindingRow {
  std::string_view role;
  std::vector<std::string_view> subjects;  // "Group:x", "User:x", "ServiceAccount:x" (of kube-system)
  std::string_view namespace_name = {};    // of a RoleBinding; empty: a ClusterRoleBinding
  std::string_view name = {};              // empty: the role's
};

#define ALL_READ "get,list,watch"
#define ALL_WRITE "create,delete,deletecollection,patch,update"

const std::vector<RoleRow>& Rows() {
  static const std::vector<RoleRow> rows = {
      {"cluster-admin", {"* / * / *", "url * / *"}},
      {"system:discovery",
       {"url get / "
        "/api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/"}},
      {"system:monitoring",
       {"url get / /flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*,"
        "/statusz",
        "get / - / nodes/metrics"}},
      {"system:public-info-viewer", {"url get / /healthz,/livez,/readyz,/version,/version/"}},
      {"system:basic-user",
       {"create / authorization.k8s.io / selfsubjectaccessreviews,selfsubjectrulesreviews",
        "create / authentication.k8s.io / selfsubjectreviews"}},
      {"system:service-account-issuer-discovery",
       {"url get / /.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,"
        "/openid/v1/jwks/"}},
      {"system:auth-delegator",
       {"create / authentication.k8s.io / tokenreviews",
        "create / authorization.k8s.io / subjectaccessreviews"}},
      {"system:node-proxier",
       {"list,watch / - / endpoints,services", ALL_READ " / - / nodes",
        "create,patch,update / -,events.k8s.io / events", "list,watch / networking.k8s.io / servicecidrs",
        "list,watch / discovery.k8s.io / endpointslices"}},
      {"system:node-bootstrapper",
       {"create,get,list,watch / certificates.k8s.io / certificatesigningrequests"}},
      {"system:node",
       {"create / authentication.k8s.io / tokenreviews",
        "create / authorization.k8s.io / localsubjectaccessreviews,subjectaccessreviews",
        ALL_READ " / - / services",
        "create,get,list,watch / - / nodes",
        "patch,update / - / nodes/status",
        "patch,update / - / nodes",
        "create,patch,update / -,events.k8s.io / events",
        ALL_READ " / - / pods",
        "create,delete / - / pods",
        "patch,update / - / pods/status",
        "create / - / pods/eviction",
        ALL_READ " / - / configmaps,secrets",
        "get / - / persistentvolumeclaims,persistentvolumes",
        "get / - / endpoints",
        "create,get,list,watch / certificates.k8s.io / certificatesigningrequests",
        "create,delete,get,patch,update / coordination.k8s.io / leases",
        "get / storage.k8s.io / volumeattachments",
        "create / - / serviceaccounts/token",
        "get,patch,update / - / persistentvolumeclaims/status",
        ALL_READ " / storage.k8s.io / csidrivers",
        "create,delete,get,patch,update / storage.k8s.io / csinodes",
        ALL_READ " / node.k8s.io / runtimeclasses",
        "get / resource.k8s.io / resourceclaims",
        "deletecollection / resource.k8s.io / resourceslices",
        ALL_READ " / certificates.k8s.io / clustertrustbundles",
        "get / - / serviceaccounts",
        "create,get,list,watch / certificates.k8s.io / podcertificaterequests"}},
      {"system:kube-scheduler",
       {"create,patch,update / -,events.k8s.io / events",
        "create / coordination.k8s.io / leases",
        "get,list,update,watch / coordination.k8s.io / leases / kube-scheduler",
        ALL_READ "," ALL_WRITE " / coordination.k8s.io / leasecandidates",
        ALL_READ " / - / nodes",
        "delete,get,list,watch / - / pods",
        "create / - / bindings,pods/binding",
        "patch,update / - / pods/status",
        ALL_READ " / - / replicationcontrollers,services",
        ALL_READ " / apps,extensions / replicasets",
        ALL_READ " / apps / statefulsets",
        ALL_READ " / policy / poddisruptionbudgets",
        ALL_READ " / - / persistentvolumeclaims,persistentvolumes",
        "create / authentication.k8s.io / tokenreviews",
        "create / authorization.k8s.io / subjectaccessreviews",
        ALL_READ " / storage.k8s.io / csinodes",
        ALL_READ " / storage.k8s.io / volumeattachments",
        ALL_READ " / - / namespaces",
        ALL_READ " / storage.k8s.io / csidrivers",
        ALL_READ " / storage.k8s.io / csistoragecapacities",
        ALL_READ " / resource.k8s.io / deviceclasses",
        "get,list,patch,update,watch / resource.k8s.io / resourceclaims",
        "get,list,patch,update,watch / resource.k8s.io / resourceclaims/status",
        "update / - / pods/finalizers",
        ALL_READ " / resource.k8s.io / resourceslices",
        "create,delete / resource.k8s.io / resourceclaims",
        ALL_READ " / resource.k8s.io / devicetaintrules",
        "patch,update / resource.k8s.io / resourceclaims/binding"}},
      {"system:kube-controller-manager",
       {"create,patch,update / -,events.k8s.io / events", "create / coordination.k8s.io / leases",
        "get,update / coordination.k8s.io / leases / kube-controller-manager",
        "create / - / secrets,serviceaccounts", "delete / - / secrets",
        "get / - / namespaces,secrets,serviceaccounts,configmaps", "update / - / secrets,serviceaccounts",
        "create / authentication.k8s.io / tokenreviews",
        "create / authorization.k8s.io / subjectaccessreviews", "list,watch / * / *",
        "create / - / serviceaccounts/token"}},
      {"system:kubelet-api-admin",
       {ALL_READ " / - / nodes", "proxy / - / nodes",
        "* / - / nodes/log,nodes/metrics,nodes/proxy,nodes/stats",
        "* / - / nodes/configz,nodes/healthz,nodes/pods"}},
      {"system:node-problem-detector",
       {"get / - / nodes", "patch / - / nodes/status", "create,patch,update / -,events.k8s.io / events"}},
      {"system:heapster",
       {ALL_READ " / - / events,namespaces,nodes,pods", ALL_READ " / extensions / deployments"}},
      {"system:kube-aggregator", {ALL_READ " / - / services,endpoints"}},
      {"system:kube-dns", {"list,watch / - / endpoints,services"}},
      {"system:persistent-volume-provisioner",
       {"create,delete,get,list,watch / - / persistentvolumes",
        "get,list,update,watch / - / persistentvolumeclaims", ALL_READ " / storage.k8s.io / storageclasses",
        "watch / - / events", "create,patch,update / -,events.k8s.io / events"}},
      {"system:volume-scheduler",
       {"get,list,patch,update,watch / - / persistentvolumes", ALL_READ " / storage.k8s.io / storageclasses",
        "get,list,patch,update,watch / - / persistentvolumeclaims"}},
      {"system:certificates.k8s.io:certificatesigningrequests:nodeclient",
       {"create / certificates.k8s.io / certificatesigningrequests/nodeclient"}},
      {"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
       {"create / certificates.k8s.io / certificatesigningrequests/selfnodeclient"}},
      {"system:certificates.k8s.io:legacy-unknown-approver",
       {"approve / certificates.k8s.io / signers / kubernetes.io/legacy-unknown"}},
      {"system:certificates.k8s.io:kubelet-serving-approver",
       {"approve / certificates.k8s.io / signers / kubernetes.io/kubelet-serving"}},
      {"system:certificates.k8s.io:kube-apiserver-client-approver",
       {"approve / certificates.k8s.io / signers / kubernetes.io/kube-apiserver-client"}},
      {"system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
       {"approve / certificates.k8s.io / signers / kubernetes.io/kube-apiserver-client-kubelet"}},
      {"system:cluster-trust-bundle-discovery", {ALL_READ " / certificates.k8s.io / clustertrustbundles"}},
      {"system:aggregate-to-view",
       {ALL_READ " / - / "
                 "configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/"
                 "status,pods,replicationcontrollers,replicationcontrollers/"
                 "scale,serviceaccounts,services,services/status",
        ALL_READ " / - / "
                 "bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/"
                 "status,resourcequotas,resourcequotas/status",
        ALL_READ " / - / namespaces", ALL_READ " / -,events.k8s.io / events",
        ALL_READ " / discovery.k8s.io / endpointslices",
        ALL_READ " / apps / "
                 "controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/"
                 "status,replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/"
                 "scale,statefulsets/status",
        ALL_READ " / autoscaling / horizontalpodautoscalers,horizontalpodautoscalers/status",
        ALL_READ " / batch / cronjobs,cronjobs/status,jobs,jobs/status",
        ALL_READ " / extensions / "
                 "daemonsets,daemonsets/status,deployments,deployments/scale,deployments/"
                 "status,ingresses,ingresses/status,networkpolicies,replicasets,replicasets/"
                 "scale,replicasets/status,replicationcontrollers/scale",
        ALL_READ " / policy / poddisruptionbudgets,poddisruptionbudgets/status",
        ALL_READ " / networking.k8s.io / ingresses,ingresses/status,networkpolicies",
        ALL_READ " / resource.k8s.io / resourceclaims,resourceclaims/status,resourceclaimtemplates"},
       "view"},
      {"system:aggregate-to-edit",
       {ALL_READ " / - / pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy",
        "impersonate / - / serviceaccounts",
        ALL_WRITE " / - / pods,pods/attach,pods/exec,pods/portforward,pods/proxy",
        "create / - / pods/eviction",
        ALL_WRITE " / - / "
                  "configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/"
                  "scale,secrets,serviceaccounts,services,services/proxy",
        "create / - / serviceaccounts/token", ALL_WRITE " / -,events.k8s.io / events",
        ALL_WRITE " / apps / "
                  "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/"
                  "scale,statefulsets,statefulsets/scale",
        ALL_WRITE " / autoscaling / horizontalpodautoscalers", ALL_WRITE " / batch / cronjobs,jobs",
        ALL_WRITE
        " / extensions / "
        "daemonsets,deployments,deployments/rollback,deployments/"
        "scale,ingresses,networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale",
        ALL_WRITE " / policy / poddisruptionbudgets",
        ALL_WRITE " / networking.k8s.io / ingresses,networkpolicies",
        ALL_READ "," ALL_WRITE " / coordination.k8s.io / leases",
        ALL_WRITE " / resource.k8s.io / resourceclaims,resourceclaimtemplates"},
       "edit"},
      {"system:aggregate-to-admin",
       {"create / authorization.k8s.io / localsubjectaccessreviews",
        ALL_READ "," ALL_WRITE " / rbac.authorization.k8s.io / rolebindings,roles"},
       "admin"},
  };
  return rows;
}

const std::vector<BindingRow>& Bindings() {
  static const std::vector<BindingRow> rows = {
      {"cluster-admin", {"Group:system:masters"}},
      {"system:monitoring", {"Group:system:monitoring"}},
      {"system:discovery", {"Group:system:authenticated"}},
      {"system:basic-user", {"Group:system:authenticated"}},
      {"system:public-info-viewer", {"Group:system:authenticated", "Group:system:unauthenticated"}},
      {"system:service-account-issuer-discovery", {"Group:system:serviceaccounts"}},
      {"system:node-proxier", {"User:system:kube-proxy"}},
      {"system:kube-controller-manager", {"User:system:kube-controller-manager"}},
      {"system:kube-scheduler", {"User:system:kube-scheduler"}},
      {"system:kube-dns", {"ServiceAccount:kube-dns"}},
      {"system:volume-scheduler", {"User:system:kube-scheduler"}},
      {"system:node", {}},
      {"system:cluster-trust-bundle-discovery", {"Group:system:serviceaccounts"}},
      {"extension-apiserver-authentication-reader",
       {"User:system:kube-controller-manager", "User:system:kube-scheduler"},
       "kube-system",
       "system::extension-apiserver-authentication-reader"},
      {"system::leader-locking-kube-controller-manager",
       {"User:system:kube-controller-manager", "ServiceAccount:kube-controller-manager",
        "ServiceAccount:leader-election-controller"},
       "kube-system"},
      {"system::leader-locking-kube-scheduler",
       {"User:system:kube-scheduler", "ServiceAccount:kube-scheduler"},
       "kube-system"},
      {"system:controller:bootstrap-signer", {"ServiceAccount:bootstrap-signer"}, "kube-system"},
      {"system:controller:cloud-provider", {"ServiceAccount:cloud-provider"}, "kube-system"},
      {"system:controller:token-cleaner", {"ServiceAccount:token-cleaner"}, "kube-system"},
      {"system:controller:bootstrap-signer", {"ServiceAccount:bootstrap-signer"}, "kube-public"},
  };
  return rows;
}

// Sorted, as upstream's are.
json::Array Split(std::string_view text) {
  std::vector<std::string> parts = SplitText(text, ',');
  std::replace(parts.begin(), parts.end(), std::string("-"), std::string());
  std::sort(parts.begin(), parts.end());
  return {parts.begin(), parts.end()};
}

json::Value RuleValue(std::string_view text) {
  constexpr std::string_view kUrl = "url ", kSeparator = " / ";
  const bool url = text.starts_with(kUrl);
  if (url) text.remove_prefix(kUrl.size());
  const auto first = text.find(kSeparator);
  json::Object rule{{"verbs", Split(text.substr(0, first))}};
  text.remove_prefix(first + kSeparator.size());
  if (url) {
    rule.Set("nonResourceURLs", Split(text));
    return rule;
  }
  const auto second = text.find(kSeparator);
  rule.Set("apiGroups", Split(text.substr(0, second)));
  text.remove_prefix(second + kSeparator.size());
  const auto third = text.find(kSeparator);
  rule.Set("resources", Split(text.substr(0, third)));
  if (third != std::string_view::npos)
    rule.Set("resourceNames", Split(text.substr(third + kSeparator.size())));
  return rule;
}

json::Value Metadata(std::string_view name) {
  return json::Object{{"name", name},
                      {"labels", json::Object{{"kubernetes.io/bootstrapping", "rbac-defaults"}}},
                      {"annotations", json::Object{{"rbac.authorization.kubernetes.io/autoupdate", "true"}}}};
}

json::Value RoleValue(std::string_view name, json::Array rules) {
  return json::Object{{"apiVersion", kPolicyVersion},
                      {"kind", "ClusterRole"},
                      {"metadata", Metadata(name)},
                      {"rules", std::move(rules)}};
}

json::Array RulesOf(const RoleRow& row) {
  json::Array rules;
  for (const auto text : row.rules) rules.push_back(RuleValue(text));
  return rules;
}

std::string AggregationLabel(std::string_view role) {
  return "rbac.authorization.k8s.io/aggregate-to-" + std::string(role);
}

// admin includes edit, which includes view. Their rules are filled in here too, so that they hold where no
// controller aggregates.
json::Value AggregateValue(std::string_view name, const std::vector<std::string_view>& parts) {
  json::Array rules, selectors;
  for (const auto& row : Rows())
    for (const auto part : parts)
      if (row.aggregate_to == part)
        for (auto& rule : RulesOf(row)) rules.push_back(std::move(rule));
  json::Value labels = json::Object{{AggregationLabel(name), "true"}};
  selectors.push_back(json::Object{{"matchLabels", std::move(labels)}});
  json::Value role = RoleValue(name, std::move(rules));
  role["aggregationRule"] = json::Object{{"clusterRoleSelectors", std::move(selectors)}};
  return role;
}

json::Value SubjectValue(std::string_view text) {
  const auto colon = text.find(':');
  const auto kind = text.substr(0, colon), name = text.substr(colon + 1);
  if (kind == "ServiceAccount")
    return json::Object{{"kind", kind}, {"name", name}, {"namespace", "kube-system"}};
  return json::Object{{"kind", kind}, {"apiGroup", kPolicyGroup}, {"name", name}};
}

json::Value BindingValue(std::string_view role, json::Array subjects, std::string_view namespace_name) {
  const bool cluster = namespace_name.empty();
  json::Value binding = json::Object{
      {"apiVersion", kPolicyVersion},
      {"kind", cluster ? "ClusterRoleBinding" : "RoleBinding"},
      {"metadata", Metadata(role)},
      {"roleRef",
       json::Object{{"apiGroup", kPolicyGroup}, {"kind", cluster ? "ClusterRole" : "Role"}, {"name", role}}},
      {"subjects", std::move(subjects)}};
  if (!cluster) binding["metadata"]["namespace"] = namespace_name;
  return binding;
}

json::Value BindingValue(const BindingRow& row) {
  json::Array subjects;
  for (const auto subject : row.subjects) subjects.push_back(SubjectValue(subject));
  json::Value binding = BindingValue(row.role, std::move(subjects), row.namespace_name);
  if (!row.name.empty()) binding["metadata"]["name"] = row.name;
  return binding;
}

void AddControllerRoles(std::vector<json::Value>& objects) {
  for (const auto& row : ControllerRoles()) {
    const std::string name = "system:controller:" + std::string(row.name);
    objects.push_back(RoleValue(name, RulesOf(row)));
    json::Value account = SubjectValue("ServiceAccount:" + std::string(row.name));
    objects.push_back(BindingValue(name, json::Array{std::move(account)}, {}));
  }
}

void AddNamespacedRoles(std::vector<json::Value>& objects) {
  for (const auto& row : NamespacedRoles()) {
    json::Value role = RoleValue(row.name, RulesOf(row));
    role["kind"] = "Role";
    role["metadata"]["namespace"] = row.namespace_name;
    objects.push_back(std::move(role));
  }
}

}  // namespace

std::vector<json::Value> BootstrapPolicy() {
  std::vector<json::Value> objects;
  for (const auto& row : Rows()) {
    json::Value role = RoleValue(row.name, RulesOf(row));
    auto& labels = role["metadata"]["labels"];
    if (!row.aggregate_to.empty()) labels[AggregationLabel(row.aggregate_to)] = "true";
    objects.push_back(std::move(role));
  }
  json::Value view = AggregateValue("view", {"view"});
  view["metadata"]["labels"][AggregationLabel("edit")] = "true";
  json::Value edit = AggregateValue("edit", {"edit", "view"});
  edit["metadata"]["labels"][AggregationLabel("admin")] = "true";
  objects.push_back(std::move(view));
  objects.push_back(std::move(edit));
  objects.push_back(AggregateValue("admin", {"admin", "edit", "view"}));
  AddControllerRoles(objects);
  AddNamespacedRoles(objects);
  for (const auto& row : Bindings()) objects.push_back(BindingValue(row));
  return objects;
}

}  // namespace flyball::server
