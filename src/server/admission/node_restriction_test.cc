// Every refusal of NodeRestriction, and what is next to it that a node may do.
#include "net/tls/pki.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kCore = "/api/v1/namespaces/default";
const char* const kMergeType = "application/merge-patch+json";

class NodeRestrictionTest : public ServerFixture {
 protected:
  explicit NodeRestrictionTest(const ApiServerOptions& options = Options()) : ServerFixture(options) {
    Do("POST", kCore + "/serviceaccounts", R"({"metadata":{"name":"default"}})");
    node_uid_ = As(node_, "POST", "/api/v1/nodes", R"({"metadata":{"name":"n1"}})")
                    ->value()["metadata"]["uid"]
                    .string_or("");
    Do("POST", "/api/v1/nodes", R"({"metadata":{"name":"n2"}})");
    Do("POST", "/api/v1/namespaces", R"({"metadata":{"name":"kube-node-lease"}})");
  }
  static ApiServerOptions Options() {
    ApiServerOptions options;
    options.admission.enable = {"NodeRestriction"};
    return options;
  }
  // A pod that runs on a node; returns its UID.
  std::string PodOn(const std::string& node, const std::string& name, const std::string& spec = "") {
    const auto made = Do("POST", kCore + "/pods",
                         R"({"metadata":{"name":")" + name + R"("},"spec":{"nodeName":")" + node + R"(")" +
                             spec + R"(,"containers":[{"name":"c","image":"i"}]}})");
    EXPECT_EQ(made->status, 201) << made->body;
    return std::string(made->value()["metadata"]["uid"].string_or(""));
  }
  std::string Owner(const std::string& members = "") const {
    return R"({"apiVersion":"v1","kind":"Node","name":"n1","controller":true,"uid":")" + node_uid_ + R"(")" +
           members + "}";
  }
  static std::string Mirror(const std::string& owners, const std::string& spec = "",
                            const std::string& container = "", const std::string& node = "n1") {
    return R"({"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":"x"},"ownerReferences":[)" +
           owners + R"(]},"spec":{"nodeName":")" + node + R"(","containers":[{"name":"c","image":"i")" +
           container + "}]" + spec + "}}";
  }
  // Why a write of the node is refused: the message behind "is forbidden: "; "" if it is not.
  std::string Refused(const std::string& method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    const auto reply = As(node_, method, path, body, type);
    if (reply->status != 403)
      return reply->status < 300 ? "" : std::to_string(reply->status) + " " + reply->body;
    const std::string message = reply->message(), mark = "is forbidden: ";
    return message.substr(message.find(mark) + mark.size());
  }
  std::string RefusedMirror(const std::string& body) { return Refused("POST", kCore + "/pods", body); }
  std::string RefusedToken(const std::string& spec) {
    return Refused("POST", kCore + "/serviceaccounts/default/token", R"({"spec":{)" + spec + "}}");
  }

  const User node_{"system:node:n1", "", {"system:nodes"}, {}};
  std::string node_uid_;
};

TEST_F(NodeRestrictionTest, ANodeWithoutANameWritesNothing) {
  Grant("system:node:", R"([{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}])");
  const auto reply = As({"system:node:", "", {"system:nodes"}, {}}, "POST", kCore + "/configmaps",
                        R"({"metadata":{"name":"m"}})");
  EXPECT_EQ(reply->message(),
            "configmaps \"m\" is forbidden: could not determine node from user \"system:node:\"");
}

TEST_F(NodeRestrictionTest, OnlyMirrorPodsOfItsOwnAreMade) {
  EXPECT_EQ(
      RefusedMirror(
          R"({"metadata":{"name":"m"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}})"),
      "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only create mirror "
      "pods");
  EXPECT_EQ(RefusedMirror(Mirror(Owner(), "", "", "n2")),
            "node \"n1\" can only create pods with spec.nodeName set to itself");
  EXPECT_EQ(RefusedMirror(Mirror("")),
            "node \"n1\" can only create pods with an owner reference set to itself");
  EXPECT_EQ(RefusedMirror(Mirror(Owner() + R"(,{"apiVersion":"v1","kind":"Node","name":"n2","uid":"u"})")),
            "node \"n1\" can only create pods with a single owner reference set to itself");
  EXPECT_EQ(
      RefusedMirror(Mirror(R"({"apiVersion":"v1","kind":"Node","name":"n2","controller":true,"uid":"u"})")),
      "node \"n1\" can only create pods with an owner reference set to itself");
  EXPECT_EQ(
      RefusedMirror(Mirror(R"({"apiVersion":"v1","kind":"Node","name":"n1","uid":")" + node_uid_ + R"("})")),
      "node \"n1\" can only create pods with a controller owner reference set to itself");
  EXPECT_EQ(RefusedMirror(Mirror(Owner(R"(,"blockOwnerDeletion":true)"))),
            "node \"n1\" must not set blockOwnerDeletion on an owner reference");
  EXPECT_EQ(RefusedMirror(
                Mirror(R"({"apiVersion":"v1","kind":"Node","name":"n1","controller":true,"uid":"other"})")),
            "node n1 UID mismatch: expected other got " + node_uid_);
  EXPECT_EQ(RefusedMirror(Mirror(Owner())), "");
}

// The ServiceAccount plugin refuses some of the same, before.
struct RestrictionAloneTest : NodeRestrictionTest {
  RestrictionAloneTest() : NodeRestrictionTest(Alone()) {}
  static ApiServerOptions Alone() {
    ApiServerOptions options = Options();
    options.admission.disable = {"ServiceAccount"};
    return options;
  }
};

TEST_F(RestrictionAloneTest, AMirrorPodRefersToNothing) {
  Do("POST", kCore + "/secrets", R"({"metadata":{"name":"s"}})");
  const std::string can_not = "node \"n1\" can not create pods that reference ";
  const auto with_volume = [&](const std::string& source) {
    return RefusedMirror(Mirror(Owner(), R"(,"volumes":[{"name":"v",)" + source + "}]"));
  };
  const auto with_container = [&](const std::string& members) {
    return RefusedMirror(Mirror(Owner(), "", "," + members));
  };
  EXPECT_EQ(RefusedMirror(Mirror(Owner(), R"(,"serviceAccountName":"default")")),
            can_not + "serviceaccounts");
  EXPECT_EQ(RefusedMirror(Mirror(Owner(), R"(,"imagePullSecrets":[{"name":"s"}])")), can_not + "secrets");
  EXPECT_EQ(with_container(R"("envFrom":[{"secretRef":{"name":"s"}}])"), can_not + "secrets");
  EXPECT_EQ(with_container(R"("env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])"),
            can_not + "secrets");
  EXPECT_EQ(with_container(R"("envFrom":[{"configMapRef":{"name":"s"}}])"), can_not + "configmaps");
  EXPECT_EQ(with_volume(R"("secret":{"secretName":"s"})"), can_not + "secrets");
  EXPECT_EQ(with_volume(R"("projected":{"sources":[{"secret":{"name":"s"}}]})"), can_not + "secrets");
  EXPECT_EQ(with_volume(R"("configMap":{"name":"s"})"), can_not + "configmaps");
  EXPECT_EQ(with_volume(R"("projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]})"),
            can_not + "serviceaccounts (via projected volumes)");
  EXPECT_EQ(with_volume(R"("persistentVolumeClaim":{"claimName":"s"})"), can_not + "persistentvolumeclaims");
  EXPECT_EQ(with_volume(R"("csi":{"driver":"d"})"), can_not + "csidrivers (via CSI volumes)");
  EXPECT_EQ(with_volume(R"("emptyDir":{})"), "");
  // And it could not have read the Secret anyway.
  EXPECT_EQ(As(node_, "GET", kCore + "/secrets/s")->status, 403);
}

TEST_F(NodeRestrictionTest, NobodysMirrorPodRefersToSecrets) {
  const auto refused = [&](const std::string& spec) {
    return Do("POST", kCore + "/pods", Mirror(Owner(), spec))->message();
  };
  const std::string forbidden = "pods \"m\" is forbidden: ";
  EXPECT_EQ(refused(R"(,"serviceAccountName":"default")"),
            forbidden + "a mirror pod may not reference service accounts");
  EXPECT_EQ(refused(R"(,"imagePullSecrets":[{"name":"s"}])"),
            forbidden + "a mirror pod may not reference secrets");
  EXPECT_EQ(refused(R"(,"volumes":[{"name":"v","secret":{"secretName":"s"}}])"),
            forbidden + "a mirror pod may not reference secrets");
  EXPECT_EQ(
      refused(R"(,"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}])"),
      forbidden + "a mirror pod may not use ServiceAccountToken volume projections");
}

TEST_F(NodeRestrictionTest, PodsOfOtherNodesAreLeftAlone) {
  PodOn("n1", "mine");
  PodOn("n2", "theirs");
  const std::string status = R"({"status":{"phase":"Running"}})";
  EXPECT_EQ(Refused("PATCH", kCore + "/pods/mine/status", status, kMergeType), "");
  EXPECT_EQ(Refused("PATCH", kCore + "/pods/theirs/status", status, kMergeType),
            "node \"n1\" can only update pod status for pods with spec.nodeName set to itself");
  EXPECT_EQ(Refused("PATCH", kCore + "/pods/mine/status", R"({"metadata":{"labels":{"a":"b"}}})", kMergeType),
            "node \"n1\" cannot update labels through pod status");
  EXPECT_EQ(
      Refused("PATCH", kCore + "/pods/mine/status",
              R"({"status":{"resourceClaimStatuses":[{"name":"r","resourceClaimName":"c"}]}})", kMergeType),
      "node \"n1\" cannot update resource claim statues");
  const std::string evict = R"({"metadata":{"name":"theirs"}})";
  EXPECT_EQ(Refused("POST", kCore + "/pods/theirs/eviction", evict),
            "node n1 can only evict pods with spec.nodeName set to itself");
  EXPECT_EQ(Refused("DELETE", kCore + "/pods/theirs"),
            "node \"n1\" can only delete pods with spec.nodeName set to itself");
  EXPECT_EQ(Refused("POST", kCore + "/pods/mine/eviction", R"({"metadata":{"name":"mine"}})"), "");
}

TEST_F(NodeRestrictionTest, PodsAreNotUpdated) {
  PodOn("n1", "mine");
  // What the authorizer would refuse, were there no roles.
  Grant("system:node:n1",
        R"([{"apiGroups":[""],"resources":["pods","pods/ephemeralcontainers"],"verbs":["patch"]}])");
  EXPECT_EQ(Refused("PATCH", kCore + "/pods/mine", R"({"metadata":{"labels":{"a":"b"}}})", kMergeType),
            "unexpected operation \"UPDATE\", node \"n1\" can only create and delete mirror pods");
  EXPECT_EQ(Refused("PATCH", kCore + "/pods/mine/ephemeralcontainers",
                    R"({"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}})",
                    "application/strategic-merge-patch+json"),
            "unexpected pod subresource \"ephemeralcontainers\", only 'status' and 'eviction' are allowed");
}

TEST_F(NodeRestrictionTest, NodesWriteThemselves) {
  EXPECT_EQ(Refused("POST", "/api/v1/nodes", R"({"metadata":{"name":"n3"}})"),
            "node \"n1\" is not allowed to modify node \"n3\"");
  const std::string own = "/api/v1/nodes/n1";
  EXPECT_EQ(Refused("PATCH", "/api/v1/nodes/n2", R"({"metadata":{"labels":{"a":"b"}}})", kMergeType),
            "node \"n1\" is not allowed to modify node \"n2\"");
  EXPECT_EQ(Refused("PATCH", "/api/v1/nodes/n2/status", R"({"status":{"phase":"Running"}})", kMergeType),
            "node \"n1\" is not allowed to modify node \"n2\"");
  EXPECT_EQ(Refused("PATCH", own, R"({"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})", kMergeType),
            "node \"n1\" is not allowed to modify taints");
  EXPECT_EQ(Refused("PATCH", own, R"({"spec":{"configSource":{"configMap":{"namespace":"d","name":"c",
                "kubeletConfigKey":"k"}}}})",
                    kMergeType),
            "node \"n1\" is not allowed to update configSource to a new non-nil configSource");
  EXPECT_EQ(
      Refused("PATCH", own,
              R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n2","uid":"u"}]}})",
              kMergeType),
      "node \"n1\" is not allowed to modify ownerReferences");
  EXPECT_EQ(Refused("PATCH", own, R"({"status":{"phase":"Running"}})", kMergeType), "");
  Do("DELETE", own);
  EXPECT_EQ(
      Refused("POST", "/api/v1/nodes",
              R"({"metadata":{"name":"n1"},"spec":{"configSource":{"configMap":{"namespace":"d","name":"c",
                        "kubeletConfigKey":"k"}}}})"),
      "node \"n1\" is not allowed to create pods with a non-nil configSource");
  EXPECT_EQ(Refused("POST", "/api/v1/nodes",
                    R"({"metadata":{"name":"n1","labels":{"node-restriction.kubernetes.io/a":"b"}}})"),
            "node \"n1\" is not allowed to set the following labels: node-restriction.kubernetes.io/a");
}

TEST_F(NodeRestrictionTest, LabelsOfKubernetesAreNotForNodes) {
  const auto label = [&](const std::string& key) {
    return Refused("PATCH", "/api/v1/nodes/n1", R"({"metadata":{"labels":{")" + key + R"(":"v"}}})",
                   kMergeType);
  };
  for (const std::string key :
       {"node-restriction.kubernetes.io/a", "x.node-restriction.kubernetes.io/a",
        "node-role.kubernetes.io/master", "kubernetes.io/anything", "x.k8s.io/a", "foo.kubernetes.io/a"})
    EXPECT_EQ(label(key), "is not allowed to modify labels: " + key);
  for (const std::string key :
       {"plain", "example.com/a", "kubernetes.io/hostname", "node.kubernetes.io/instance-type",
        "kubelet.kubernetes.io/a", "x.node.kubernetes.io/a", "mykubernetes.io/a",
        "xnode-restriction.kubernetes.io.example/a", "topology.kubernetes.io/zone"})
    EXPECT_EQ(label(key), "") << key;
  Do("PATCH", "/api/v1/nodes/n1", R"({"metadata":{"labels":{"node-role.kubernetes.io/master":""}}})",
     kMergeType);
  EXPECT_EQ(Refused("PATCH", "/api/v1/nodes/n1",
                    R"({"metadata":{"labels":{"node-role.kubernetes.io/master":null}}})", kMergeType),
            "is not allowed to modify labels: node-role.kubernetes.io/master");
}

TEST_F(NodeRestrictionTest, LeasesAndCsiNodesCarryItsName) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  EXPECT_EQ(Refused("POST", leases, R"({"metadata":{"name":"n2"}})"),
            "can only access node lease with the same name as the requesting node");
  EXPECT_EQ(Refused("POST", leases, R"({"metadata":{"name":"n1"}})"), "");
  EXPECT_EQ(Refused("POST", "/apis/storage.k8s.io/v1/csinodes",
                    R"({"metadata":{"name":"n2"},"spec":{"drivers":[]}})"),
            "can only access CSINode with the same name as the requesting node");
  EXPECT_EQ(Refused("POST", "/apis/storage.k8s.io/v1/csinodes",
                    R"({"metadata":{"name":"n1"},"spec":{"drivers":[]}})"),
            "");
  // Where roles let a node do more, the plugin still does not.
  Grant("system:node:n1", R"([{"apiGroups":["*"],"resources":["leases","csinodes"],"verbs":["*"]}])");
  EXPECT_EQ(Refused("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
                    R"({"metadata":{"name":"n1"}})"),
            "can only access leases in the \"kube-node-lease\" system namespace");
  Do("POST", leases, R"({"metadata":{"name":"n2"}})");
  EXPECT_EQ(Refused("DELETE", leases + "/n2"),
            "can only access node lease with the same name as the requesting node");
  Do("POST", "/apis/storage.k8s.io/v1/csinodes", R"({"metadata":{"name":"n2"},"spec":{"drivers":[]}})");
  EXPECT_EQ(Refused("DELETE", "/apis/storage.k8s.io/v1/csinodes/n2"),
            "can only access CSINode with the same name as the requesting node");
}

TEST_F(NodeRestrictionTest, ResourceSlicesAreOfItsDevices) {
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  const auto slice = [](const std::string& name, const std::string& node) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"d.example.com","nodeName":")" + node +
           R"(","pool":{"name":"p","generation":1,"resourceSliceCount":1}}})";
  };
  EXPECT_EQ(Refused("POST", slices, slice("s1", "n2")),
            "can only create ResourceSlice with the same NodeName as the requesting node");
  EXPECT_EQ(Refused("POST", slices, slice("s1", "n1")), "");
  ASSERT_EQ(Do("POST", slices, slice("s2", "n2"))->status, 201);
  Grant("system:node:n1",
        R"([{"apiGroups":["resource.k8s.io"],"resources":["resourceslices"],"verbs":["delete"]}])");
  EXPECT_EQ(Refused("DELETE", slices + "/s2"),
            "can only delete ResourceSlice with the same NodeName as the requesting node");
  EXPECT_EQ(Refused("DELETE", slices + "/s1"), "");
}

TEST_F(NodeRestrictionTest, OfAClaimOnlyTheStatusAndNotAllOfIt) {
  Do("POST", kCore + "/persistentvolumeclaims",
     R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],
         "resources":{"requests":{"storage":"1Gi"}}}})");
  PodOn("n1", "user", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"v"}}])");
  const std::string claim = kCore + "/persistentvolumeclaims/v";
  EXPECT_EQ(Refused("PATCH", claim + "/status",
                    R"({"status":{"conditions":[{"type":"Resizing","status":"True"}]}})", kMergeType),
            "");
  const std::string refused =
      "node \"n1\" is not allowed to update fields other than status.quantity and status.conditions";
  EXPECT_EQ(Refused("PATCH", claim + "/status", R"({"status":{"phase":"Lost"}})", kMergeType), refused);
  EXPECT_EQ(Refused("PATCH", claim + "/status", R"({"metadata":{"labels":{"a":"b"}}})", kMergeType), refused);
  Grant("system:node:n1", R"([{"apiGroups":[""],"resources":["persistentvolumeclaims"],"verbs":["patch"]}])");
  EXPECT_EQ(Refused("PATCH", claim, R"({"metadata":{"labels":{"a":"b"}}})", kMergeType),
            "may only update PVC status");
}

TEST_F(NodeRestrictionTest, TokensAreBoundToItsPods) {
  const std::string mine = PodOn("n1", "mine"), theirs = PodOn("n2", "theirs");
  const auto bound = [](const std::string& name, const std::string& uid) {
    return R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":")" + name + R"(","uid":")" + uid +
           R"("})";
  };
  EXPECT_EQ(RefusedToken(""), "node requested token not bound to a pod");
  EXPECT_EQ(RefusedToken(R"("boundObjectRef":{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u"})"),
            "node requested token not bound to a pod");
  EXPECT_EQ(RefusedToken(bound("mine", "")), "node requested token with a pod binding without a uid");
  EXPECT_EQ(
      RefusedToken(bound("mine", "other")),
      "the UID in the bound object reference (other) does not match the UID in record. The object might have "
      "been deleted and then recreated");
  EXPECT_EQ(RefusedToken(bound("theirs", theirs)),
            "node requested token bound to a pod scheduled on a different node");
  EXPECT_EQ(RefusedToken(bound("mine", mine)), "");
  EXPECT_EQ(RefusedToken(bound("mine", mine) + R"(,"audiences":["a","b"])"),
            "node may only request 0 or 1 audiences");
  EXPECT_EQ(RefusedToken(bound("mine", mine) + R"(,"audiences":["vault"])"),
            "system:node:n1 is not authorized to request tokens for audience \"vault\"");
  const std::string asks = PodOn(
      "n1", "asks",
      R"(,"volumes":[{"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t","audience":"vault"}}]}}])");
  EXPECT_EQ(RefusedToken(bound("asks", asks) + R"(,"audiences":["vault"])"), "");
  Grant("system:node:n1", R"([{"apiGroups":[""],"resources":["vault"],"resourceNames":["default"],
      "verbs":["request-serviceaccounts-token-audience"]}])");
  EXPECT_EQ(RefusedToken(bound("mine", mine) + R"(,"audiences":["vault"])"), "");
}

TEST_F(NodeRestrictionTest, CertificatesAreOfItsName) {
  const std::string requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const auto request = [](const std::string& signer, const std::string& node) {
    const auto made = net::MakeCertificateRequest(
        {.common_name = "system:node:" + node, .organizations = {"system:nodes"}});
    return R"({"metadata":{"name":"a"},"spec":{"signerName":"kubernetes.io/)" + signer +
           R"(","usages":["digital signature","client auth"],"request":")" +
           net::Base64Encode(made->request_pem) + R"("}})";
  };
  EXPECT_EQ(Refused("POST", requests, request("kube-apiserver-client-kubelet", "n2")),
            "can only create a node CSR with CN=system:node:n1");
  EXPECT_EQ(Refused("POST", requests, request("kubelet-serving", "n2")),
            "can only create a node CSR with CN=system:node:n1");
  EXPECT_EQ(Refused("POST", requests, request("kube-apiserver-client-kubelet", "n1")), "");
}

}  // namespace
}  // namespace flyball::server
