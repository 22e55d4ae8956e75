// The Node authoriser: a kubelet reads what its own pods need, and nothing of other nodes' (upstream:
// plugin/pkg/auth/authorizer/node).
#include <array>
#include <map>
#include <memory>
#include <set>

#include "base/run/mutex.h"
#include "server/auth/rbac.h"
#include "server/request/request_info.h"

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

bool AllowedAnywhere(const AuthorizationAttributes& a) {
  const std::string what = a.subresource.empty() ? a.resource : a.resource + "/" + a.subresource;
  for (const auto& row : kAnywhere)
    if (row.group == a.group && row.resource == what && HasVerb(row.verbs, a.verb)) return true;
  return false;
}

// "secrets/ns/name": what a pod needs is asked for by these.
std::string NeedKey(std::string_view resource, std::string_view space, std::string_view name) {
  return std::string(resource) + "/" + std::string(space) + "/" + std::string(name);
}

// Everything a pod needs of its namespace, as keys.
class PodNeeds {
 public:
  explicit PodNeeds(const json::Value& pod) : space_(pod["metadata"]["namespace"].string_or("")) {
    const auto& spec = pod["spec"];
    Add("serviceaccounts", spec["serviceAccountName"]);
    for (const auto& volume : List(spec["volumes"])) {
      Add("persistentvolumeclaims", volume["persistentVolumeClaim"]["claimName"]);
      Add("secrets", volume["secret"]["secretName"]);
      Add("configmaps", volume["configMap"]["name"]);
      for (const auto& source : List(volume["projected"]["sources"])) {
        Add("secrets", source["secret"]["name"]);
        Add("configmaps", source["configMap"]["name"]);
      }
    }
    for (const auto& secret : List(spec["imagePullSecrets"])) Add("secrets", secret["name"]);
    for (const auto list : {"containers", "initContainers", "ephemeralContainers"})
      for (const auto& container : List(spec[list])) AddContainer(container);
  }

  const std::set<std::string>& keys() const { return keys_; }

 private:
  static const json::Array& List(const json::Value& value) {
    static const json::Array kNone;
    return value.is_array() ? value.as_array() : kNone;
  }
  void Add(std::string_view resource, const json::Value& name) {
    if (!name.string_or("").empty()) keys_.insert(NeedKey(resource, space_, name.string_or("")));
  }
  void AddContainer(const json::Value& container) {
    for (const auto& variable : List(container["env"])) {
      Add("secrets", variable["valueFrom"]["secretKeyRef"]["name"]);
      Add("configmaps", variable["valueFrom"]["configMapKeyRef"]["name"]);
    }
    for (const auto& source : List(container["envFrom"])) {
      Add("secrets", source["secretRef"]["name"]);
      Add("configmaps", source["configMapRef"]["name"]);
    }
  }

  std::string space_;
  std::set<std::string> keys_;
};

// What the pods of each node need, kept as pods come, move and go. Thread-safe.
class NodeNeeds {
 public:
  // A pod as it is now; null: it is gone.
  void Set(const std::string& pod_key, const StoredObject* object) {
    Entry next;
    if (object) {
      const json::Value pod = object->ToValue();
      next.node = pod["spec"]["nodeName"].string_or("");
      if (!next.node.empty()) next.keys = PodNeeds(pod).keys();
    }
    MutexLock lock(mu_);
    auto& entry = pods_[pod_key];
    for (const auto& key : entry.keys)
      if (auto& count = nodes_[entry.node][key]; --count == 0) nodes_[entry.node].erase(key);
    if (const auto it = nodes_.find(entry.node); it != nodes_.end() && it->second.empty()) nodes_.erase(it);
    for (const auto& key : next.keys) ++nodes_[next.node][key];
    if (next.keys.empty()) {
      pods_.erase(pod_key);
    } else {
      entry = std::move(next);
    }
  }

  bool Has(std::string_view node, const std::string& key) const {
    MutexLock lock(mu_);
    const auto it = nodes_.find(node);
    return it != nodes_.end() && it->second.contains(key);
  }

 private:
  struct Entry {
    std::string node;
    std::set<std::string> keys;
  };
  mutable Mutex mu_;
  std::map<std::string, Entry> pods_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, std::map<std::string, int>, std::less<>> nodes_ FLYBALL_GUARDED_BY(mu_);
};

class NodeAuthorizer final : public LocalAuthorizer {
 public:
  explicit NodeAuthorizer(const Catalog& catalog) : pods_(catalog.Find("", "v1", "pods")->cache) {
    pods_->Observe([needs = needs_](const Change& change) {
      const auto& shown = change.object ? change.object : change.previous;
      needs->Set(ServedResource::CacheKey(shown->namespace_name(), shown->name()), change.object.get());
    });
  }

  Verdict Decide(const AuthorizationAttributes& a) const override {
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
  // The index says yes at once. Before a no the pods themselves are asked: it may be a moment behind, and it
  // knows nothing of pods from before this run that have not changed.
  bool NeededBy(std::string_view node, const AuthorizationAttributes& a) const {
    const std::string key = NeedKey(a.resource, a.namespace_name, a.name);
    if (needs_->Has(node, key)) return true;
    ObjectFilter on_node{.namespace_name = std::string(a.namespace_name)};
    auto fields = api::FieldSelector::Parse("spec.nodeName=" + std::string(node), pods_->kind());
    if (!fields) return false;
    on_node.fields = std::move(*fields);
    for (const auto& object : pods_->List(on_node).objects)
      if (PodNeeds(object->ToValue()).keys().contains(key)) return true;
    return false;
  }

  const std::shared_ptr<ResourceCache> pods_;
  const std::shared_ptr<NodeNeeds> needs_ = std::make_shared<NodeNeeds>();
};

}  // namespace

std::unique_ptr<Authorizer> NewNodeAuthorizer(const Catalog& catalog) {
  return std::make_unique<NodeAuthorizer>(catalog);
}

}  // namespace flyball::server
