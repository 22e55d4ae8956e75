// The Node authoriser: a kubelet reads what its own pods need, and nothing of other nodes' (upstream:
// plugin/pkg/auth/authorizer/node).
#include <array>

#include "server/rbac.h"

namespace flyball::server {
namespace {

constexpr std::string_view kNodePrefix = "system:node:";

// The name of the node this user is; "" if it is none.
std::string_view NodeOf(const User& user) {
  if (!user.InGroup("system:nodes") || !user.name.starts_with(kNodePrefix)) return {};
  return std::string_view(user.name).substr(kNodePrefix.size());
}

struct Allowed {
  std::string_view group, resource, verbs;
};
// What any kubelet may do, whatever runs on it.
constexpr std::array kAnywhere = {
    Allowed{"authentication.k8s.io", "tokenreviews", "create"},
    Allowed{"authorization.k8s.io", "subjectaccessreviews", "create"},
    Allowed{"authorization.k8s.io", "localsubjectaccessreviews", "create"},
    Allowed{"", "services", "get,list,watch"},
    Allowed{"", "nodes", "create,get,list,watch,update,patch"},
    Allowed{"", "nodes/status", "update,patch"},
    Allowed{"", "events", "create,update,patch"},
    Allowed{"", "pods", "get,list,watch,create,delete"},
    Allowed{"", "pods/status", "update,patch"},
    Allowed{"", "pods/eviction", "create"},
    Allowed{"certificates.k8s.io", "certificatesigningrequests", "create,get,list,watch"},
    Allowed{"coordination.k8s.io", "leases", "get,create,update,patch,delete"},
    Allowed{"storage.k8s.io", "csidrivers", "get,list,watch"},
    Allowed{"storage.k8s.io", "csinodes", "create,get,update,patch,delete"},
    Allowed{"node.k8s.io", "runtimeclasses", "get,list,watch"},
};

bool ListsVerb(std::string_view verbs, std::string_view verb) {
  while (!verbs.empty()) {
    const auto comma = verbs.find(',');
    if (verbs.substr(0, comma) == verb) return true;
    if (comma == std::string_view::npos) break;
    verbs.remove_prefix(comma + 1);
  }
  return false;
}

bool AllowedAnywhere(const AuthorizationAttributes& a) {
  const std::string what = a.subresource.empty() ? a.resource : a.resource + "/" + a.subresource;
  for (const auto& row : kAnywhere)
    if (row.group == a.group && row.resource == what && ListsVerb(row.verbs, a.verb)) return true;
  return false;
}

bool Mentions(const json::Value& sources, std::string_view field, std::string_view member,
              std::string_view name) {
  if (!sources.is_array()) return false;
  for (const auto& source : sources.as_array()) {
    if (source[field][member].string_or("") == name) return true;
    if (Mentions(source["projected"]["sources"], field == "configMap" || field == "secret" ? field : "",
                 "name", name))
      return true;
  }
  return false;
}

bool ContainersMention(const json::Value& containers, std::string_view env_key, std::string_view from,
                       std::string_view name) {
  if (!containers.is_array()) return false;
  for (const auto& container : containers.as_array()) {
    if (const auto& env = container["env"]; env.is_array())
      for (const auto& variable : env.as_array())
        if (variable["valueFrom"][env_key]["name"].string_or("") == name) return true;
    if (Mentions(container["envFrom"], from, "name", name)) return true;
  }
  return false;
}

// Whether the pod needs the named object of that resource.
bool PodNeeds(const json::Value& pod, std::string_view resource, std::string_view name) {
  const auto& spec = pod["spec"];
  if (resource == "serviceaccounts") return spec["serviceAccountName"].string_or("") == name;
  if (resource == "persistentvolumeclaims")
    return Mentions(spec["volumes"], "persistentVolumeClaim", "claimName", name);
  const bool secret = resource == "secrets";
  if (Mentions(spec["volumes"], secret ? "secret" : "configMap", secret ? "secretName" : "name", name))
    return true;
  if (secret && spec["imagePullSecrets"].is_array())
    for (const auto& pull : spec["imagePullSecrets"].as_array())
      if (pull["name"].string_or("") == name) return true;
  for (const auto list : {"containers", "initContainers", "ephemeralContainers"})
    if (ContainersMention(spec[list], secret ? "secretKeyRef" : "configMapKeyRef",
                          secret ? "secretRef" : "configMapRef", name))
      return true;
  return false;
}

class NodeAuthorizer final : public Authorizer {
 public:
  explicit NodeAuthorizer(const Catalog& catalog) : pods_(catalog.Find("", "v1", "pods")->cache) {}

  Verdict Authorize(const AuthorizationAttributes& a) const override {
    const auto node = NodeOf(*a.user);
    if (node.empty() || !a.is_resource) return {};
    if (AllowedAnywhere(a)) return {Decision::kAllow, ""};
    const bool read = a.verb == "get" || a.verb == "list" || a.verb == "watch";
    const bool guarded =
        a.group.empty() && (a.resource == "secrets" || a.resource == "configmaps" ||
                            a.resource == "persistentvolumeclaims" || a.resource == "serviceaccounts");
    if (!guarded) return {};
    const bool token = a.resource == "serviceaccounts" && a.subresource == "token" && a.verb == "create";
    if (!token && (!read || !a.subresource.empty() || a.name.empty()))
      return {Decision::kNoOpinion, "can only read resources of this type"};
    if (NeededBy(node, a)) return {Decision::kAllow, ""};
    return {Decision::kNoOpinion,
            "no relationship found between node '" + std::string(node) + "' and this object"};
  }

  RuleLists RulesFor(const User& user, std::string_view) const override {
    RuleLists lists;
    if (!NodeOf(user).empty()) {
      lists.incomplete = true;
      lists.evaluation_error = "node authorizer does not support user rule resolution";
    }
    return lists;
  }

 private:
  bool NeededBy(std::string_view node, const AuthorizationAttributes& a) const {
    ObjectFilter on_node{.namespace_name = std::string(a.namespace_name)};
    auto fields = api::FieldSelector::Parse("spec.nodeName=" + std::string(node), pods_->kind());
    if (!fields) return false;
    on_node.fields = std::move(*fields);
    for (const auto& object : pods_->List(on_node).objects)
      if (PodNeeds(object->ToValue(), a.resource, a.name)) return true;
    return false;
  }

  const std::shared_ptr<ResourceCache> pods_;
};

}  // namespace

std::unique_ptr<Authorizer> NewNodeAuthorizer(const Catalog& catalog) {
  return std::make_unique<NodeAuthorizer>(catalog);
}

}  // namespace flyball::server
