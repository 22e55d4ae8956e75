#include "server/admission/node_restriction.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "api/values/base64.h"
#include "net/tls/pki.h"
#include "server/auth/pod_references.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

using NodeWrite = AdmissionRequest::Operation;

constexpr std::string_view kNodeUserPrefix = "system:node:";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";

// Labels of Kubernetes' own domains that a kubelet may put on its node (upstream: IsKubeletLabel).
constexpr std::array<std::string_view, 11> kKubeletLabels = {"kubernetes.io/hostname",
                                                             "kubernetes.io/arch",
                                                             "kubernetes.io/os",
                                                             "topology.kubernetes.io/zone",
                                                             "topology.kubernetes.io/region",
                                                             "failure-domain.beta.kubernetes.io/zone",
                                                             "failure-domain.beta.kubernetes.io/region",
                                                             "beta.kubernetes.io/instance-type",
                                                             "node.kubernetes.io/instance-type",
                                                             "beta.kubernetes.io/os",
                                                             "beta.kubernetes.io/arch"};
// And any in these domains.
constexpr std::array<std::string_view, 2> kKubeletDomains = {"kubelet.kubernetes.io", "node.kubernetes.io"};
constexpr std::array<std::string_view, 2> kKubernetesDomains = {"kubernetes.io", "k8s.io"};
constexpr std::array<std::string_view, 1> kRestrictedDomains = {"node-restriction.kubernetes.io"};

// Whether the label's domain is one of them or below one.
template <std::size_t N>
bool IsInDomain(std::string_view key, const std::array<std::string_view, N>& domains) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const auto domain = key.substr(0, slash);
  return std::any_of(domains.begin(), domains.end(), [&](std::string_view own) {
    return domain == own || (domain.ends_with(own) && domain[domain.size() - own.size() - 1] == '.');
  });
}

bool MayLabelItself(std::string_view key) {
  if (IsInDomain(key, kRestrictedDomains)) return false;
  if (!IsInDomain(key, kKubernetesDomains) || IsInDomain(key, kKubeletDomains)) return true;
  return std::find(kKubeletLabels.begin(), kKubeletLabels.end(), key) != kKubeletLabels.end();
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

// What of the API a pod refers to, in upstream's words; "" if nothing. A volume of a kind that is not known
// here might (upstream: HasAPIObjectReference).
std::string ApiReferenceOf(const json::Value& pod) {
  const PodReferences references = ReferencesOf(pod);
  if (!references.service_accounts.empty()) return "serviceaccounts";
  if (!references.secrets.empty()) return "secrets";
  if (!references.config_maps.empty()) return "configmaps";
  if (!pod["spec"]["resourceClaims"].empty()) return "resourceclaims";
  const auto& volumes = pod["spec"]["volumes"];
  if (!volumes.is_array()) return {};
  constexpr std::pair<std::string_view, std::string_view> kVolumes[] = {
      {"configMap", "configmaps (via configmap volumes)"},
      {"secret", "secrets (via secret volumes)"},
      {"csi", "csidrivers (via CSI volumes)"},
      {"glusterfs", "endpoints (via glusterFS volumes)"},
      {"persistentVolumeClaim", "persistentvolumeclaims"},
      {"ephemeral", "persistentvolumeclaims (via ephemeral volumes)"},
      {"azureFile", "secrets (via azureFile volumes)"}};
  constexpr std::pair<std::string_view, std::string_view> kSources[] = {
      {"configMap", "configmaps (via projected volumes)"},
      {"secret", "secrets (via projected volumes)"},
      {"serviceAccountToken", "serviceaccounts (via projected volumes)"},
      {"clusterTrustBundle", "clustertrustbundles"},
      {"podCertificate", "podcertificates"}};
  for (const auto& volume : volumes.as_array()) {
    for (const auto& [member, what] : kVolumes)
      if (volume[member].is_object()) return std::string(what);
    if (!volume["projected"]["sources"].is_array()) continue;
    for (const auto& source : volume["projected"]["sources"].as_array())
      for (const auto& [member, what] : kSources)
        if (source[member].is_object()) return std::string(what);
  }
  return {};
}

// Of a claim, what a node may not change: everything but these parts of its status.
json::Value FixedPartOf(json::Value claim) {
  for (const auto member : {"resourceVersion", "managedFields"}) claim["metadata"].as_object().Erase(member);
  if (auto* status = claim.Find("status"); status && status->is_object())
    for (const auto member : {"capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"})
      status->as_object().Erase(member);
  if (const auto* status = claim.Find("status"); !status || status->empty())
    claim.as_object().Erase("status");
  return claim;
}

class NodeRestriction final : public AdmissionPlugin {
 public:
  NodeRestriction(const Catalog& catalog, const Authorizer& authorizer)
      : catalog_(catalog), authorizer_(authorizer) {}
  std::string_view name() const override { return "NodeRestriction"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    const auto& user = request.scope.user;
    if (request.operation == NodeWrite::kConnect || !user.InGroup("system:nodes") ||
        !user.name.starts_with(kNodeUserPrefix))
      co_return Status();
    const std::string node = user.name.substr(kNodeUserPrefix.size());
    if (node.empty()) co_return Forbid(request, "could not determine node from user \"" + user.name + "\"");
    const Write write{request, node, "\"" + node + "\""};
    const auto group = request.resource.kind->group, plural = request.resource.kind->plural;
    if (group.empty() && plural == "serviceaccounts") co_return co_await CheckToken(write);
    if (group == "certificates.k8s.io" && plural == "podcertificaterequests")
      co_return co_await CheckPodCertificate(write);
    for (const auto& row : kChecks)
      if (row.group == group && row.plural == plural) co_return (this->*row.check)(write);
    co_return Status();
  }

 private:
  // What a node asks for.
  struct Write {
    const AdmissionRequest& request;
    const std::string& node;
    std::string quoted;  // the node's name in quotes
  };
  using Check = Status (NodeRestriction::*)(const Write& write) const;
  struct CheckRow {
    std::string_view group, plural;
    Check check;
  };
  static const std::array<CheckRow, 7> kChecks;

  static Status Forbid(const AdmissionRequest& request, const std::string& why) {
    return Unexpected(AdmissionForbidden(request, why));
  }
  static Status Forbid(const Write& write, const std::string& why) { return Forbid(write.request, why); }
  static Status Expect(bool holds, const Write& write, const std::string& why) {
    return holds ? Status() : Forbid(write.request, why);
  }
  static Status UnexpectedOperation(const Write& write) {
    return Forbid(write,
                  "unexpected operation \"" + std::string(OperationName(write.request.operation)) + "\"");
  }

  // NotFound if there is none.
  Result<json::Value> Find(std::string_view plural, std::string_view space, std::string_view name) const {
    const auto resource = catalog_.Find("", "v1", plural);
    const auto object = resource->cache->Get(ServedResource::CacheKey(space, name));
    if (!object) return Unexpected(NotFound(*resource->kind, name));
    return object->ToValue();
  }
  static bool IsOn(const json::Value& pod, const std::string& node) {
    return pod["spec"]["nodeName"].string_or("") == node;
  }

  Status CheckPod(const Write& write) const {
    const auto& request = write.request;
    if (request.subresource == "status") return CheckPodStatus(write);
    if (request.subresource == "eviction") return CheckEviction(write);
    if (!request.subresource.empty())
      return Forbid(write, "unexpected pod subresource \"" + std::string(request.subresource) +
                               "\", only 'status' and 'eviction' are allowed");
    if (request.operation == NodeWrite::kCreate) return CheckNewPod(write);
    if (request.operation == NodeWrite::kDelete)
      return Expect(IsOn(*request.old_object, write.node), write,
                    "node " + write.quoted + " can only delete pods with spec.nodeName set to itself");
    return Forbid(write, "unexpected operation \"" + std::string(OperationName(request.operation)) +
                             "\", node " + write.quoted + " can only create and delete mirror pods");
  }

  Status CheckNewPod(const Write& write) const {
    const auto& pod = *write.request.object;
    const std::string node = "node " + write.quoted;
    if (!IsMirrorPod(pod))
      return Forbid(write, "pod does not have \"" + std::string(kMirrorPodAnnotation) + "\" annotation, " +
                               node + " can only create mirror pods");
    if (!IsOn(pod, write.node))
      return Forbid(write, node + " can only create pods with spec.nodeName set to itself");
    FLYBALL_TRY(CheckOwner(write, pod["metadata"]["ownerReferences"]));
    const std::string reference = ApiReferenceOf(pod);
    return Expect(reference.empty(), write, node + " can not create pods that reference " + reference);
  }

  Status CheckOwner(const Write& write, const json::Value& owners) const {
    const std::string can = "node " + write.quoted + " can only create pods with ";
    const std::size_t count = owners.is_array() ? owners.as_array().size() : 0;
    if (count > 1) return Forbid(write, can + "a single owner reference set to itself");
    if (count == 0) return Forbid(write, can + "an owner reference set to itself");
    const auto& owner = owners.as_array()[0];
    if (owner["apiVersion"].string_or("") != "v1" || owner["kind"].string_or("") != "Node" ||
        owner["name"].string_or("") != write.node)
      return Forbid(write, can + "an owner reference set to itself");
    if (!owner["controller"].bool_or(false))
      return Forbid(write, can + "a controller owner reference set to itself");
    if (owner["blockOwnerDeletion"].bool_or(false))
      return Forbid(write, "node " + write.quoted + " must not set blockOwnerDeletion on an owner reference");
    FLYBALL_ASSIGN(const json::Value node, Find("nodes", "", write.node));
    const std::string claimed(owner["uid"].string_or("")), real(node["metadata"]["uid"].string_or(""));
    return Expect(claimed == real, write,
                  "node " + write.node + " UID mismatch: expected " + claimed + " got " + real);
  }

  Status CheckPodStatus(const Write& write) const {
    const auto& request = write.request;
    if (request.operation != NodeWrite::kUpdate) return UnexpectedOperation(write);
    const auto &now = *request.object, &before = *request.old_object;
    const std::string node = "node " + write.quoted;
    FLYBALL_TRY(Expect(IsOn(before, write.node), write,
                       node + " can only update pod status for pods with spec.nodeName set to itself"));
    FLYBALL_TRY(Expect(now["metadata"]["labels"] == before["metadata"]["labels"], write,
                       node + " cannot update labels through pod status"));
    constexpr std::pair<std::string_view, std::string_view> kNotItsOwn[] = {
        {"resourceClaimStatuses", " cannot update resource claim statues"},
        {"extendedResourceClaimStatus", " cannot update extended resource claim status"},
        {"nodeAllocatableResourceClaimStatuses", " cannot update node allocatable resource claim statuses"}};
    for (const auto& [member, why] : kNotItsOwn)
      FLYBALL_TRY(Expect(now["status"][member] == before["status"][member], write, node + std::string(why)));
    return {};
  }

  Status CheckEviction(const Write& write) const {
    const auto& request = write.request;
    if (request.operation != NodeWrite::kCreate) return UnexpectedOperation(write);
    FLYBALL_ASSIGN(const json::Value pod, Find("pods", request.namespace_name, request.name));
    return Expect(IsOn(pod, write.node), write,
                  "node " + write.node + " can only evict pods with spec.nodeName set to itself");
  }

  Status CheckNode(const Write& write) const {
    const auto& request = write.request;
    const std::string node = "node " + write.quoted;
    if (request.name != write.node)
      return Forbid(write, node + " is not allowed to modify node \"" + std::string(request.name) + "\"");
    if (request.operation == NodeWrite::kDelete) return {};
    const auto& now = *request.object;
    const auto forbidden = ForbiddenLabels(now, request.old_object);
    if (request.operation == NodeWrite::kCreate) {
      FLYBALL_TRY(Expect(now["spec"]["configSource"].is_null(), write,
                         node + " is not allowed to create pods with a non-nil configSource"));
      return Expect(forbidden.empty(), write,
                    node + " is not allowed to set the following labels: " + JoinKeys(forbidden));
    }
    const auto& before = *request.old_object;
    const auto& source = now["spec"]["configSource"];
    FLYBALL_TRY(Expect(source.is_null() || source == before["spec"]["configSource"], write,
                       node + " is not allowed to update configSource to a new non-nil configSource"));
    FLYBALL_TRY(Expect(now["spec"]["taints"] == before["spec"]["taints"], write,
                       node + " is not allowed to modify taints"));
    FLYBALL_TRY(Expect(now["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"], write,
                       node + " is not allowed to modify ownerReferences"));
    return Expect(forbidden.empty(), write, "is not allowed to modify labels: " + JoinKeys(forbidden));
  }

  Status CheckVolumeClaim(const Write& write) const {
    const auto& request = write.request;
    if (request.subresource != "status") return Forbid(write, "may only update PVC status");
    if (request.operation != NodeWrite::kUpdate) return UnexpectedOperation(write);
    return Expect(FixedPartOf(*request.object) == FixedPartOf(*request.old_object), write,
                  "node " + write.quoted +
                      " is not allowed to update fields other than status.quantity and status.conditions");
  }

  Status CheckLease(const Write& write) const {
    FLYBALL_TRY(
        Expect(write.request.namespace_name == kLeaseNamespace, write,
               "can only access leases in the \"" + std::string(kLeaseNamespace) + "\" system namespace"));
    return Expect(write.request.name == write.node, write,
                  "can only access node lease with the same name as the requesting node");
  }
  Status CheckCsiNode(const Write& write) const {
    return Expect(write.request.name == write.node, write,
                  "can only access CSINode with the same name as the requesting node");
  }

  // Other writes the authorizer has decided; it does not see what is made, nor what a deletecollection
  // deletes.
  Status CheckResourceSlice(const Write& write) const {
    const auto& request = write.request;
    const bool creates = request.operation == NodeWrite::kCreate;
    if (!creates && request.operation != NodeWrite::kDelete) return {};
    return Expect(IsOn(creates ? *request.object : *request.old_object, write.node), write,
                  std::string("can only ") + (creates ? "create" : "delete") +
                      " ResourceSlice with the same NodeName as the requesting node");
  }

  // A node asks for certificates of its own name alone; the signer looks at the rest.
  Status CheckCertificateRequest(const Write& write) const {
    if (write.request.operation != NodeWrite::kCreate) return {};
    const auto& spec = (*write.request.object)["spec"];
    const auto signer = spec["signerName"].string_or("");
    if (signer != "kubernetes.io/kubelet-serving" && signer != "kubernetes.io/kube-apiserver-client-kubelet")
      return {};
    std::string pem;
    std::size_t bad = 0;
    api::DecodeBase64(spec["request"].string_or(""), pem, bad);
    const auto wanted = net::ParseCertificateRequest(pem);
    if (!wanted) return Forbid(write, "unable to parse csr: " + wanted.error().message());
    return Expect(wanted->common_name == std::string(kNodeUserPrefix) + write.node, write,
                  "can only create a node CSR with CN=" + std::string(kNodeUserPrefix) + write.node);
  }

  Task<Status> CheckToken(const Write& write) const {
    const auto& request = write.request;
    if (request.operation != NodeWrite::kCreate || request.subresource != "token") co_return Status();
    const auto& reference = (*request.object)["spec"]["boundObjectRef"];
    const std::string name(reference["name"].string_or("")), uid(reference["uid"].string_or(""));
    if (reference["apiVersion"].string_or("") != "v1" || reference["kind"].string_or("") != "Pod" ||
        name.empty())
      co_return Forbid(write, "node requested token not bound to a pod");
    if (uid.empty()) co_return Forbid(write, "node requested token with a pod binding without a uid");
    FLYBALL_CO_ASSIGN(const json::Value pod, Find("pods", request.namespace_name, name));
    if (uid != pod["metadata"]["uid"].string_or(""))
      co_return Forbid(write,
                       "the UID in the bound object reference (" + uid +
                           ") does not match the UID in record. The object might have been deleted and "
                           "then recreated");
    if (!IsOn(pod, write.node))
      co_return Forbid(write, "node requested token bound to a pod scheduled on a different node");
    co_return co_await CheckAudience(write, pod);
  }

  // Tokens for audiences that the pod's volumes ask for, or that somebody has let nodes have.
  Task<Status> CheckAudience(const Write& write, const json::Value& pod) const {
    const auto& audiences = (*write.request.object)["spec"]["audiences"];
    if (audiences.is_array() && audiences.as_array().size() > 1)
      co_return Forbid(write, "node may only request 0 or 1 audiences");
    const std::string audience(audiences.empty() ? "" : audiences.as_array()[0].string_or(""));
    if (WantsAudience(pod, audience)) co_return Status();
    if (co_await Authorized(write, "request-serviceaccounts-token-audience", audience, write.request.name))
      co_return Status();
    co_return Forbid(write, write.request.scope.user.name +
                                " is not authorized to request tokens for audience \"" + audience + "\"");
  }

  bool WantsAudience(const json::Value& pod, const std::string& audience) const {
    if (!pod["spec"]["volumes"].is_array()) return false;
    for (const auto& volume : pod["spec"]["volumes"].as_array()) {
      if (volume["projected"]["sources"].is_array())
        for (const auto& source : volume["projected"]["sources"].as_array())
          if (source["serviceAccountToken"].is_object() &&
              source["serviceAccountToken"]["audience"].string_or("") == audience)
            return true;
      if (DriverWantsAudience(DriverOf(volume, pod), audience)) return true;
    }
    return false;
  }
  std::string DriverOf(const json::Value& volume, const json::Value& pod) const {
    if (volume["csi"].is_object()) return std::string(volume["csi"]["driver"].string_or(""));
    std::string claim_name(volume["persistentVolumeClaim"]["claimName"].string_or(""));
    if (volume["ephemeral"].is_object())
      claim_name = std::string(pod["metadata"]["name"].string_or("")) + "-" +
                   std::string(volume["name"].string_or(""));
    const auto claim = Find("persistentvolumeclaims", pod["metadata"]["namespace"].string_or(""), claim_name);
    if (!claim) return {};
    const auto bound = Find("persistentvolumes", "", (*claim)["spec"]["volumeName"].string_or(""));
    return bound ? std::string((*bound)["spec"]["csi"]["driver"].string_or("")) : "";
  }
  bool DriverWantsAudience(const std::string& driver, const std::string& audience) const {
    if (driver.empty()) return false;
    const auto object = catalog_.Find("storage.k8s.io", "v1", "csidrivers")->cache->Get(driver);
    if (!object) return false;
    const json::Value value = object->ToValue();
    if (!value["spec"]["tokenRequests"].is_array()) return false;
    for (const auto& wanted : value["spec"]["tokenRequests"].as_array())
      if (wanted["audience"].string_or("") == audience) return true;
    return false;
  }

  Task<bool> Authorized(const Write& write, std::string verb, std::string resource,
                        std::string_view name) const {
    const auto& request = write.request;
    AuthorizationAttributes attributes;
    attributes.user = &request.scope.user;
    attributes.verb = std::move(verb);
    attributes.group = request.resource.kind->group;
    attributes.version = request.resource.kind->version;
    attributes.resource = std::move(resource);
    attributes.namespace_name = request.namespace_name;
    attributes.name = name;
    const auto verdict = co_await authorizer_.Authorize(attributes, request.scope.executor);
    co_return verdict.decision == Decision::kAllow;
  }

  Task<Status> CheckPodCertificate(const Write& write) const {
    const auto& request = write.request;
    if (request.operation != NodeWrite::kCreate)
      co_return Forbid(write, "unexpected operation " + std::string(OperationName(request.operation)));
    if (!request.subresource.empty())
      co_return Forbid(write, "unexpected subresource " + std::string(request.subresource));
    const auto& spec = (*request.object)["spec"];
    const std::string pod_name(spec["podName"].string_or(""));
    const std::string shown = "\"" + std::string(request.namespace_name) + "/" + pod_name + "\"";
    if (spec["nodeName"].string_or("") != write.node)
      co_return Forbid(write, "PodCertificateRequest.Spec.NodeName=\"" +
                                  std::string(spec["nodeName"].string_or("")) +
                                  "\", which is not the requesting node " + write.quoted);
    FLYBALL_CO_ASSIGN(const json::Value node, Find("nodes", "", write.node));
    FLYBALL_CO_ASSIGN(const json::Value pod, Find("pods", request.namespace_name, pod_name));
    if (!(spec["nodeUID"] == node["metadata"]["uid"]) || !(spec["podUID"] == pod["metadata"]["uid"]))
      co_return Forbid(
          write, "PodCertificateRequest for pod " + shown + " names another UID of the node or the pod");
    if (!IsOn(pod, write.node))
      co_return Forbid(write, "pod " + shown + " is not running on node " + write.quoted +
                                  " named in the PodCertificateRequest");
    if (IsMirrorPod(pod)) co_return Forbid(write, "pod " + shown + " is a mirror pod");
    const std::string account(spec["serviceAccountName"].string_or(""));
    if (account != pod["spec"]["serviceAccountName"].string_or(""))
      co_return Forbid(write, "PodCertificateRequest for pod " + shown + " contains serviceAccountName (\"" +
                                  account + "\") that differs from running pod (\"" +
                                  std::string(pod["spec"]["serviceAccountName"].string_or("")) + "\")");
    FLYBALL_CO_ASSIGN(const json::Value owner, Find("serviceaccounts", request.namespace_name, account));
    if (!(spec["serviceAccountUID"] == owner["metadata"]["uid"]))
      co_return Forbid(
          write, "PodCertificateRequest for pod " + shown + " names another UID of the service account");
    co_return co_await CheckSigner(write, pod, account, shown);
  }

  Task<Status> CheckSigner(const Write& write, const json::Value& pod, const std::string& account,
                           const std::string& shown) const {
    const std::string signer((*write.request.object)["spec"]["signerName"].string_or(""));
    if (pod["spec"]["volumes"].is_array())
      for (const auto& volume : pod["spec"]["volumes"].as_array())
        if (volume["projected"]["sources"].is_array())
          for (const auto& source : volume["projected"]["sources"].as_array())
            if (source["podCertificate"].is_object() &&
                source["podCertificate"]["signerName"].string_or("") == signer)
              co_return Status();
    std::string resource = signer;
    std::replace(resource.begin(), resource.end(), '/', ':');
    if (co_await Authorized(write, "request-serviceaccounts-podcertificate-signer", resource, account))
      co_return Status();
    co_return Forbid(
        write,
        "pod " + shown + " does not mount a podCertificate projected volume for signer \"" + signer + "\"");
  }

  const Catalog& catalog_;
  const Authorizer& authorizer_;
};

const std::array<NodeRestriction::CheckRow, 7> NodeRestriction::kChecks = {{
    {"", "pods", &NodeRestriction::CheckPod},
    {"", "nodes", &NodeRestriction::CheckNode},
    {"", "persistentvolumeclaims", &NodeRestriction::CheckVolumeClaim},
    {"coordination.k8s.io", "leases", &NodeRestriction::CheckLease},
    {"storage.k8s.io", "csinodes", &NodeRestriction::CheckCsiNode},
    {"resource.k8s.io", "resourceslices", &NodeRestriction::CheckResourceSlice},
    {"certificates.k8s.io", "certificatesigningrequests", &NodeRestriction::CheckCertificateRequest},
}};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewNodeRestriction(const Catalog& catalog, const Authorizer& authorizer) {
  return std::make_unique<NodeRestriction>(catalog, authorizer);
}

}  // namespace flyball::server
