#include "server/admission/node_restriction.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace flyball::server {
namespace {

using NodeWrite = AdmissionRequest::Operation;

constexpr std::string_view kNodeUserPrefix = "system:node:";
constexpr std::string_view kMirrorPod = "kubernetes.io/config.mirror";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";

// Labels of Kubernetes' own domains that a kubelet may put on its node (upstream: IsKubeletLabel).
constexpr std::array<std::string_view, 12> kKubeletLabels = {"kubernetes.io/hostname",
                                                             "kubernetes.io/arch",
                                                             "kubernetes.io/os",
                                                             "topology.kubernetes.io/zone",
                                                             "topology.kubernetes.io/region",
                                                             "failure-domain.beta.kubernetes.io/zone",
                                                             "failure-domain.beta.kubernetes.io/region",
                                                             "beta.kubernetes.io/instance-type",
                                                             "beta.kubernetes.io/os",
                                                             "beta.kubernetes.io/arch",
                                                             "kubelet.kubernetes.io/",
                                                             "node.kubernetes.io/"};

bool IsKubernetesDomain(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const auto domain = key.substr(0, slash);
  for (const std::string_view own : {"kubernetes.io", "k8s.io"})
    if (domain == own || (domain.ends_with(own) && domain[domain.size() - own.size() - 1] == '.'))
      return true;
  return false;
}

bool MayLabelItself(std::string_view key) {
  if (key.substr(0, key.find('/')).ends_with("node-restriction.kubernetes.io")) return false;
  if (!IsKubernetesDomain(key)) return true;
  return std::any_of(kKubeletLabels.begin(), kKubeletLabels.end(), [&](std::string_view allowed) {
    return key == allowed || (allowed.ends_with('/') && key.starts_with(allowed));
  });
}

// Labels that differ and are not the kubelet's to set.
std::set<std::string> ForbiddenLabels(const json::Value& now, const json::Value* before) {
  std::set<std::string> keys;
  const auto compare = [&](const json::Value& labels, const json::Value* others) {
    if (!labels.is_object()) return;
    for (const auto& [key, value] : labels.as_object()) {
      const auto* other = others ? others->Find(key) : nullptr;
      if ((!other || !(*other == value)) && !MayLabelItself(key)) keys.insert(key);
    }
  };
  compare(now["metadata"]["labels"], before ? &(*before)["metadata"]["labels"] : nullptr);
  if (before) compare((*before)["metadata"]["labels"], &now["metadata"]["labels"]);
  return keys;
}

std::string JoinKeys(const std::set<std::string>& keys) {
  std::string text;
  for (const auto& key : keys) text += (text.empty() ? "" : ", ") + key;
  return text;
}

std::string_view RunsOn(const json::Value* pod) {
  return pod ? (*pod)["spec"]["nodeName"].string_or("") : std::string_view{};
}

std::string_view OperationName(NodeWrite operation) {
  switch (operation) {
    case NodeWrite::kCreate:
      return "CREATE";
    case NodeWrite::kUpdate:
      return "UPDATE";
    case NodeWrite::kDelete:
      return "DELETE";
    case NodeWrite::kConnect:
      return "CONNECT";
  }
  return {};
}

class NodeRestriction final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "NodeRestriction"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    const auto& user = request.scope.user;
    if (!user.InGroup("system:nodes") || !user.name.starts_with(kNodeUserPrefix)) co_return Status();
    const std::string node = user.name.substr(kNodeUserPrefix.size());
    const std::string problem = Problem(request, node);
    if (problem.empty()) co_return Status();
    co_return Unexpected(AdmissionForbidden(request, problem));
  }

 private:
  static std::string Problem(const AdmissionRequest& request, const std::string& node) {
    const std::string quoted = "\"" + node + "\"";
    const auto group = request.resource.kind->group, plural = request.resource.kind->plural;
    if (group.empty() && plural == "pods") return PodProblem(request, node, quoted);
    if (group.empty() && plural == "nodes") return NodeProblem(request, node, quoted);
    if (group == "coordination.k8s.io" && plural == "leases") return LeaseProblem(request, node);
    if (group == "storage.k8s.io" && plural == "csinodes" && request.name != node)
      return "can only access CSINode with the same name as the requesting node";
    return {};
  }

  static std::string PodProblem(const AdmissionRequest& request, const std::string& node,
                                const std::string& quoted) {
    const auto own = [&](const json::Value* pod) { return RunsOn(pod) == node; };
    if (request.subresource == "status") {
      if (!own(request.old_object))
        return "node " + quoted + " can only update pod status for pods with spec.nodeName set to itself";
      if (!((*request.object)["metadata"]["labels"] == (*request.old_object)["metadata"]["labels"]))
        return "node " + quoted + " cannot update labels through pod status";
      return {};
    }
    if (!request.subresource.empty())
      return "unexpected pod subresource \"" + std::string(request.subresource) + "\"";
    if (request.operation == NodeWrite::kCreate) return NewPodProblem(*request.object, node, quoted);
    if (request.operation == NodeWrite::kDelete)
      return own(request.old_object)
                 ? ""
                 : "node " + quoted + " can only delete pods with spec.nodeName set to itself";
    return "unexpected operation \"" + std::string(OperationName(request.operation)) + "\", node " + quoted +
           " can only create and delete mirror pods";
  }

  static std::string NewPodProblem(const json::Value& pod, const std::string& node,
                                   const std::string& quoted) {
    if (!pod["metadata"]["annotations"].Find(kMirrorPod))
      return "pod does not have \"" + std::string(kMirrorPod) + "\" annotation, node " + quoted +
             " can only create mirror pods";
    if (RunsOn(&pod) != node)
      return "node " + quoted + " can only create pods with spec.nodeName set to itself";
    const auto& spec = pod["spec"];
    if (!spec["serviceAccountName"].string_or("").empty())
      return "node " + quoted + " can not create pods that reference a service account";
    if (const auto& volumes = spec["volumes"]; volumes.is_array())
      for (const auto& volume : volumes.as_array()) {
        if (volume["secret"].is_object())
          return "node " + quoted + " can not create pods that reference secrets";
        if (volume["configMap"].is_object())
          return "node " + quoted + " can not create pods that reference configmaps";
        if (volume["persistentVolumeClaim"].is_object())
          return "node " + quoted + " can not create pods that reference persistentvolumeclaims";
      }
    return {};
  }

  static std::string NodeProblem(const AdmissionRequest& request, const std::string& node,
                                 const std::string& quoted) {
    const std::string target(request.name);
    if (target != node) return "node " + quoted + " is not allowed to modify node \"" + target + "\"";
    if (request.operation == NodeWrite::kDelete || !request.object) return {};
    const auto forbidden = ForbiddenLabels(*request.object, request.old_object);
    if (request.operation == NodeWrite::kCreate) {
      if (forbidden.empty()) return {};
      return "node " + quoted + " is not allowed to set the following labels: " + JoinKeys(forbidden);
    }
    const auto &now = *request.object, &before = *request.old_object;
    if (!(now["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"]))
      return "node " + quoted + " is not allowed to modify ownerReferences";
    if (request.subresource.empty() && !(now["spec"]["taints"] == before["spec"]["taints"]))
      return "node " + quoted + " is not allowed to modify taints";
    if (forbidden.empty()) return {};
    return "is not allowed to modify labels: " + JoinKeys(forbidden);
  }

  static std::string LeaseProblem(const AdmissionRequest& request, const std::string& node) {
    if (request.namespace_name != kLeaseNamespace)
      return "can only access leases in the \"" + std::string(kLeaseNamespace) + "\" system namespace";
    if (request.name != node) return "can only access node lease with the same name as the requesting node";
    return {};
  }
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewNodeRestriction() {
  return std::make_unique<NodeRestriction>();
}

}  // namespace flyball::server
