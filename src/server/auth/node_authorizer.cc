// The Node authoriser: a kubelet reads what its own pods need, and nothing of other nodes' (upstream:
// plugin/pkg/auth/authorizer/node).
#include <array>
#include <map>
#include <memory>
#include <set>

#include "base/run/mutex.h"
#include "server/auth/pod_references.h"
#include "server/auth/rbac.h"
#include "server/request/request_info.h"

namespace flyball::server {
namespace {

constexpr std::string_view kNodePrefix = "system:node:";
constexpr std::string_view kNodeLeases = "kube-node-lease";

// Upstream: nodeidentifier.
bool IsNodeUser(const User& user) {
  return user.InGroup("system:nodes") && user.name.starts_with(kNodePrefix);
}

struct Allowed {
  std::string_view group, resource, verbs;
};
// What every node may do with resources that are not divided among nodes.
constexpr std::array kAnywhere = {
    Allowed{"authentication.k8s.io", "tokenreviews", "create"},
    Allowed{"authorization.k8s.io", "subjectaccessreviews", "create"},
    Allowed{"authorization.k8s.io", "localsubjectaccessreviews", "create"},
    Allowed{"", "services", "get,list,watch"},
    Allowed{"", "endpoints", "get"},
    Allowed{"", "events", "create,update,patch"},
    Allowed{"events.k8s.io", "events", "create,update,patch"},
    Allowed{"certificates.k8s.io", "certificatesigningrequests", "create,get,list,watch"},
    Allowed{"certificates.k8s.io", "clustertrustbundles", "get,list,watch"},
    Allowed{"storage.k8s.io", "csidrivers", "get,list,watch"},
    Allowed{"node.k8s.io", "runtimeclasses", "get,list,watch"},
};

bool AllowedAnywhere(const AuthorizationAttributes& a) {
  const std::string what = a.subresource.empty() ? a.resource : a.resource + "/" + a.subresource;
  for (const auto& row : kAnywhere)
    if (row.group == a.group && row.resource == what && HasVerb(row.verbs, a.verb)) return true;
  return false;
}

Verdict Permit() {
  return {Decision::kAllow, ""};
}
Verdict NoOpinion(std::string why = {}) {
  return {Decision::kNoOpinion, std::move(why)};
}

bool RequiresField(const AuthorizationAttributes& a, std::string_view field, std::string_view value) {
  for (const auto& term : a.field_terms)
    if (term.equals && term.field == field && term.value == value) return true;
  return false;
}

// "secrets/ns/name": what a pod needs is asked for by these.
std::string NeedKey(std::string_view resource, std::string_view space, std::string_view name) {
  return std::string(resource) + "/" + std::string(space) + "/" + std::string(name);
}

// What the node of a pod may read for it. Nothing for a mirror pod: nodes make those themselves.
std::set<std::string> NeedsOf(const json::Value& pod) {
  std::set<std::string> keys;
  if (IsMirrorPod(pod)) return keys;
  const auto space = pod["metadata"]["namespace"].string_or("");
  const PodReferences needs = ReferencesOf(pod);
  const auto add = [&](std::string_view resource, const std::set<std::string>& names) {
    for (const auto& name : names) keys.insert(NeedKey(resource, space, name));
  };
  add("serviceaccounts", needs.service_accounts);
  add("secrets", needs.secrets);
  add("configmaps", needs.config_maps);
  add("persistentvolumeclaims", needs.volume_claims);
  add("resourceclaims", needs.resource_claims);
  return keys;
}

// What the pods of each node need, kept as pods come, move and go. Thread-safe.
class NodeNeeds {
 public:
  // A pod as it is now; null: it is gone.
  void Set(const std::string& pod_key, const StoredObject* object) {
    Entry next;
    if (object) {
      const json::Value pod = object->ToValue();
      next.node = pod["spec"]["nodeName"].string_or("");
      if (!next.node.empty()) next.keys = NeedsOf(pod);
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
  explicit NodeAuthorizer(const Catalog& catalog)
      : catalog_(catalog), pods_(catalog.Find("", "v1", "pods")->cache) {
    pods_->Observe([needs = needs_](const Change& change) {
      const auto& shown = change.object ? change.object : change.previous;
      needs->Set(ServedResource::CacheKey(shown->namespace_name(), shown->name()), change.object.get());
    });
  }

  Verdict Decide(const AuthorizationAttributes& a) const override {
    if (!IsNodeUser(*a.user)) return {};
    const std::string node = a.user->name.substr(kNodePrefix.size());
    if (node.empty()) return NoOpinion("unknown node for user \"" + a.user->name + "\"");
    if (!a.is_resource) return {};
    for (const auto& row : kDivided)
      if (row.group == a.group && row.resource == a.resource) return (this->*row.decide)(node, a);
    return AllowedAnywhere(a) ? Permit() : NoOpinion();
  }

  RuleLists RulesFor(const User& user, std::string_view) const override {
    RuleLists lists;
    if (IsNodeUser(user)) {
      lists.incomplete = true;
      lists.evaluation_error = "node authorizer does not support user rule resolution";
    }
    return lists;
  }

 private:
  using DecideOn = Verdict (NodeAuthorizer::*)(const std::string& node,
                                               const AuthorizationAttributes& a) const;
  struct Divided {
    std::string_view group, resource;
    DecideOn decide;
  };
  // Resources of which a node has its part only.
  static const std::array<Divided, 13> kDivided;

  Verdict DecideNamespaced(const std::string& node, const AuthorizationAttributes& a) const {
    if (!HasVerb("get,list,watch", a.verb)) return NoOpinion("can only read resources of this type");
    if (!a.subresource.empty()) return NoOpinion("cannot read subresource");
    if (a.namespace_name.empty()) return NoOpinion("can only read namespaced object of this type");
    return DecideRelated(node, a);
  }
  Verdict DecideGet(const std::string& node, const AuthorizationAttributes& a) const {
    if (a.verb != "get") return NoOpinion("can only get individual resources of this type");
    if (!a.subresource.empty()) return NoOpinion("cannot get subresource");
    return DecideRelated(node, a);
  }
  Verdict DecideVolumeClaim(const std::string& node, const AuthorizationAttributes& a) const {
    if (a.subresource != "status") return DecideGet(node, a);
    if (!HasVerb("update,patch", a.verb)) return NoOpinion("can only get/update/patch this type");
    return DecideRelated(node, a);
  }
  Verdict DecideServiceAccount(const std::string& node, const AuthorizationAttributes& a) const {
    if (a.verb == "get" && a.subresource.empty()) return DecideNamespaced(node, a);
    if (a.verb != "create" || a.name.empty())
      return NoOpinion("can only create tokens for individual service accounts");
    if (a.subresource != "token") return NoOpinion("can only create token subresource of serviceaccount");
    return DecideRelated(node, a);
  }
  // The name of a new object is not known here: the NodeRestriction plugin looks at it.
  Verdict DecideLease(const std::string& node, const AuthorizationAttributes& a) const {
    if (!HasVerb("get,create,update,patch,delete", a.verb))
      return NoOpinion("can only get, create, update, patch, or delete a node lease");
    if (a.namespace_name != kNodeLeases)
      return NoOpinion("can only access leases in the \"" + std::string(kNodeLeases) + "\" system namespace");
    if (a.verb != "create" && a.name != node)
      return NoOpinion("can only access node lease with the same name as the requesting node");
    return Permit();
  }
  Verdict DecideCsiNode(const std::string& node, const AuthorizationAttributes& a) const {
    if (!a.subresource.empty()) return NoOpinion("cannot authorize CSINode subresources");
    if (!HasVerb("get,create,update,patch,delete", a.verb))
      return NoOpinion("can only get, create, update, patch, or delete a CSINode");
    if (a.verb != "create" && a.name != node)
      return NoOpinion("can only access CSINode with the same name as the requesting node");
    return Permit();
  }
  Verdict DecideResourceSlice(const std::string& node, const AuthorizationAttributes& a) const {
    if (!a.subresource.empty()) return NoOpinion("cannot authorize ResourceSlice subresources");
    if (a.verb == "create") return Permit();
    if (HasVerb("get,update,patch,delete", a.verb)) return DecideRelated(node, a);
    if (!HasVerb("list,watch,deletecollection", a.verb))
      return NoOpinion(
          "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, "
          "patch, delete, deletecollection");
    return RequiresField(a, "spec.nodeName", node)
               ? Permit()
               : NoOpinion(
                     "can only list/watch/deletecollection resourceslices with nodeName field selector");
  }
  Verdict DecidePodCertificate(const std::string& node, const AuthorizationAttributes& a) const {
    if (!a.subresource.empty())
      return NoOpinion("nodes may not access the status subresource of PodCertificateRequests");
    if (a.verb == "create") return Permit();
    if (a.verb == "get") return DecideRelated(node, a);
    if (!HasVerb("list,watch", a.verb))
      return NoOpinion("nodes may not " + a.verb + " podcertificaterequests");
    return RequiresField(a, "spec.nodeName", node)
               ? Permit()
               : NoOpinion("can only list/watch podcertificaterequests with nodeName field selector");
  }
  Verdict DecideNode(const std::string& node, const AuthorizationAttributes& a) const {
    if (a.subresource == "status") return HasVerb("update,patch", a.verb) ? Permit() : NoOpinion();
    if (!a.subresource.empty()) return NoOpinion();
    if (HasVerb("create,update,patch", a.verb)) return Permit();
    if (!HasVerb("get,list,watch", a.verb)) return NoOpinion();
    if (a.name == node) return Permit();
    if (a.name.empty())
      return NoOpinion("node '" + node + "' cannot read all nodes, only its own Node object");
    return NoOpinion("node '" + node + "' cannot read '" + a.name + "', only its own Node object");
  }
  Verdict DecidePod(const std::string& node, const AuthorizationAttributes& a) const {
    if (a.subresource == "status") return HasVerb("update,patch", a.verb) ? Permit() : NoOpinion();
    if (a.subresource == "eviction") return a.verb == "create" ? Permit() : NoOpinion();
    if (!a.subresource.empty()) return NoOpinion();
    if (HasVerb("create,delete", a.verb)) return Permit();
    if (a.verb == "get") return DecideGet(node, a);
    if (!HasVerb("list,watch", a.verb)) return NoOpinion();
    if (RequiresField(a, "spec.nodeName", node)) return Permit();
    if (a.name.empty()) return NoOpinion("can only list/watch pods with spec.nodeName field selector");
    return DecideRelated(node, a);
  }

  Verdict DecideRelated(const std::string& node, const AuthorizationAttributes& a) const {
    if (a.name.empty()) return NoOpinion("No Object name found");
    if (IsRelated(node, a)) return Permit();
    return NoOpinion("no relationship found between node '" + node + "' and this object");
  }

  bool IsRelated(const std::string& node, const AuthorizationAttributes& a) const {
    if (a.resource == "pods" || a.resource == "volumeattachments" || a.resource == "resourceslices" ||
        a.resource == "podcertificaterequests")
      return NodeNameOf(a) == node;
    if (a.resource == "persistentvolumes") {
      const json::Value claim = ObjectOf("", "persistentvolumes", "", a.name)["spec"]["claimRef"];
      return NeededBy(node, "persistentvolumeclaims", claim["namespace"].string_or(""),
                      claim["name"].string_or(""));
    }
    if (NeededBy(node, a.resource, a.namespace_name, a.name)) return true;
    return a.resource == "secrets" && NeededByVolume(node, a.namespace_name + "/" + a.name);
  }

  // Null if there is none.
  json::Value ObjectOf(std::string_view group, std::string_view plural, std::string_view space,
                       std::string_view name) const {
    const auto resource = catalog_.snapshot()->FindGroupResource(group, plural);
    if (!resource || !resource->cache) return {};
    const auto object = resource->cache->Get(ServedResource::CacheKey(space, name));
    return object ? object->ToValue() : json::Value();
  }
  std::string NodeNameOf(const AuthorizationAttributes& a) const {
    return std::string(
        ObjectOf(a.group, a.resource, a.namespace_name, a.name)["spec"]["nodeName"].string_or(""));
  }

  std::vector<ObjectPtr> PodsOn(const std::string& node, std::string_view space) const {
    ObjectFilter on_node{.namespace_name = std::string(space)};
    auto fields = api::FieldSelector::Equal("spec.nodeName", node, pods_->kind());
    if (!fields) return {};
    on_node.fields = std::move(*fields);
    return pods_->List(on_node).objects;
  }

  // The index says yes at once. Before a no the pods themselves are asked: it may be a moment behind, and it
  // knows nothing of pods from before this run that have not changed.
  bool NeededBy(const std::string& node, std::string_view resource, std::string_view space,
                std::string_view name) const {
    const std::string key = NeedKey(resource, space, name);
    if (needs_->Has(node, key)) return true;
    for (const auto& object : PodsOn(node, space))
      if (NeedsOf(object->ToValue()).contains(key)) return true;
    return false;
  }

  // Through the volumes that are bound to claims of the node's pods. The volume says whose it is: anybody may
  // write a claim that names one.
  bool NeededByVolume(const std::string& node, const std::string& secret) const {
    for (const auto& object : PodsOn(node, {})) {
      const json::Value pod = object->ToValue();
      if (IsMirrorPod(pod)) continue;
      for (const auto& name : ReferencesOf(pod).volume_claims) {
        const json::Value claim = ObjectOf("", "persistentvolumeclaims", object->namespace_name(), name);
        const json::Value volume =
            ObjectOf("", "persistentvolumes", "", claim["spec"]["volumeName"].string_or(""));
        const auto& owner = volume["spec"]["claimRef"];
        if (owner["namespace"].string_or("") == object->namespace_name() &&
            owner["name"].string_or("") == name && VolumeSecrets(volume).contains(secret))
          return true;
      }
    }
    return false;
  }

  const Catalog& catalog_;
  const std::shared_ptr<ResourceCache> pods_;
  const std::shared_ptr<NodeNeeds> needs_ = std::make_shared<NodeNeeds>();
};

const std::array<NodeAuthorizer::Divided, 13> NodeAuthorizer::kDivided = {{
    {"", "secrets", &NodeAuthorizer::DecideNamespaced},
    {"", "configmaps", &NodeAuthorizer::DecideNamespaced},
    {"", "persistentvolumeclaims", &NodeAuthorizer::DecideVolumeClaim},
    {"", "persistentvolumes", &NodeAuthorizer::DecideGet},
    {"resource.k8s.io", "resourceclaims", &NodeAuthorizer::DecideGet},
    {"storage.k8s.io", "volumeattachments", &NodeAuthorizer::DecideGet},
    {"", "serviceaccounts", &NodeAuthorizer::DecideServiceAccount},
    {"coordination.k8s.io", "leases", &NodeAuthorizer::DecideLease},
    {"storage.k8s.io", "csinodes", &NodeAuthorizer::DecideCsiNode},
    {"resource.k8s.io", "resourceslices", &NodeAuthorizer::DecideResourceSlice},
    {"certificates.k8s.io", "podcertificaterequests", &NodeAuthorizer::DecidePodCertificate},
    {"", "nodes", &NodeAuthorizer::DecideNode},
    {"", "pods", &NodeAuthorizer::DecidePod},
}};

}  // namespace

std::unique_ptr<Authorizer> NewNodeAuthorizer(const Catalog& catalog) {
  return std::make_unique<NodeAuthorizer>(catalog);
}

}  // namespace flyball::server
