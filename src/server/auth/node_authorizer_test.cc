#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kDefaultSpace = "/api/v1/namespaces/default";

class NodeAuthorizerTest : public ServerFixture {
 protected:
  explicit NodeAuthorizerTest(const ApiServerOptions& options = {}) : ServerFixture(options) {
    Do("POST", kDefaultSpace + "/serviceaccounts", R"({"metadata":{"name":"default"}})");
    for (const char* name : {"mounted", "pulled", "env", "other"})
      Do("POST", kDefaultSpace + "/secrets", std::string(R"({"metadata":{"name":")") + name + R"("}})");
    Do("POST", kDefaultSpace + "/pods", R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1",
      "volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"mounted"}}]}},
                 {"name":"c","persistentVolumeClaim":{"claimName":"claim"}}],
      "imagePullSecrets":[{"name":"pulled"}],
      "containers":[{"name":"c","image":"i","envFrom":[{"secretRef":{"name":"env"}}]}]}})");
  }
  int Get(const char* node, const std::string& name) {
    return Status(node, "GET", kDefaultSpace + "/secrets/" + name);
  }
  std::shared_ptr<Reply> AsNode(const std::string& node, const std::string& method, const std::string& path,
                                const std::string& body = "") {
    return As({"system:node:" + node, "", {"system:nodes"}, {}}, method, path, body);
  }
  int Status(const std::string& node, const std::string& method, const std::string& path,
             const std::string& body = "") {
    return AsNode(node, method, path, body)->status;
  }
  // The authorizer's reason, which ends the message; "" if it was allowed.
  std::string Why(const std::string& method, const std::string& path) {
    const auto reply = AsNode("n1", method, path, "{}");
    if (reply->status != 403) return "";
    const std::string message = reply->message();
    const auto at = message.rfind(": ");
    return message.substr(at + 2);
  }
};

TEST_F(NodeAuthorizerTest, ANodeReadsWhatItsPodsNeedWhileTheyAreThere) {
  for (const char* name : {"mounted", "pulled", "env"}) {
    EXPECT_EQ(Get("n1", name), 200) << name;
    EXPECT_EQ(Get("n2", name), 403) << name;
  }
  EXPECT_EQ(Get("n1", "other"), 403);
  Do("DELETE", kDefaultSpace + "/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(Get("n1", "mounted"), 403);
}

TEST_F(NodeAuthorizerTest, TwoPodsThatNeedTheSameGoOneAfterTheOther) {
  Do("POST", kDefaultSpace + "/pods", R"({"metadata":{"name":"q"},"spec":{"nodeName":"n1",
      "imagePullSecrets":[{"name":"pulled"}],"containers":[{"name":"c","image":"i"}]}})");
  Do("DELETE", kDefaultSpace + "/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(Get("n1", "pulled"), 200);
  Do("DELETE", kDefaultSpace + "/pods/q?gracePeriodSeconds=0");
  EXPECT_EQ(Get("n1", "pulled"), 403);
}

TEST_F(NodeAuthorizerTest, OnlyOneSecretAtATimeIsRead) {
  const std::string secrets = kDefaultSpace + "/secrets";
  EXPECT_EQ(Status("n1", "GET", secrets + "?fieldSelector=metadata.name%3Denv"), 200);
  EXPECT_EQ(Why("GET", secrets), "No Object name found");
  EXPECT_EQ(Why("GET", "/api/v1/secrets?fieldSelector=metadata.name%3Denv"),
            "can only read namespaced object of this type");
  EXPECT_EQ(Why("DELETE", secrets + "/env"), "can only read resources of this type");
  EXPECT_EQ(Why("GET", secrets + "/other"), "no relationship found between node 'n1' and this object");
}

TEST_F(NodeAuthorizerTest, LeasesAreItsOwn) {
  const std::string group = "/apis/coordination.k8s.io/v1/namespaces/";
  const std::string own = group + "kube-node-lease/leases/n1", other = group + "kube-node-lease/leases/n2";
  EXPECT_EQ(Status("n1", "GET", own), 404);
  EXPECT_EQ(Why("GET", other), "can only access node lease with the same name as the requesting node");
  EXPECT_EQ(Why("PUT", other), "can only access node lease with the same name as the requesting node");
  EXPECT_EQ(Why("DELETE", other), "can only access node lease with the same name as the requesting node");
  EXPECT_EQ(Why("GET", group + "kube-system/leases/n1"),
            "can only access leases in the \"kube-node-lease\" system namespace");
  EXPECT_EQ(Why("POST", group + "default/leases"),
            "can only access leases in the \"kube-node-lease\" system namespace");
  EXPECT_EQ(Why("GET", group + "kube-node-lease/leases"),
            "can only get, create, update, patch, or delete a node lease");
}

TEST_F(NodeAuthorizerTest, CsiNodesAreItsOwn) {
  const std::string nodes = "/apis/storage.k8s.io/v1/csinodes";
  EXPECT_EQ(Status("n1", "GET", nodes + "/n1"), 404);
  EXPECT_EQ(Why("GET", nodes + "/n2"), "can only access CSINode with the same name as the requesting node");
  EXPECT_EQ(Why("DELETE", nodes + "/n2"),
            "can only access CSINode with the same name as the requesting node");
  EXPECT_EQ(Why("GET", nodes), "can only get, create, update, patch, or delete a CSINode");
}

TEST_F(NodeAuthorizerTest, NodesAreReadByTheirNameAlone) {
  EXPECT_EQ(Status("n1", "GET", "/api/v1/nodes/n1"), 404);
  EXPECT_EQ(Status("n1", "GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1"), 200);
  EXPECT_EQ(Why("GET", "/api/v1/nodes"), "node 'n1' cannot read all nodes, only its own Node object");
  EXPECT_EQ(Why("GET", "/api/v1/nodes/n2"), "node 'n1' cannot read 'n2', only its own Node object");
  EXPECT_EQ(Why("GET", "/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dn2"),
            "node 'n1' cannot read 'n2', only its own Node object");
  EXPECT_EQ(Status("n1", "DELETE", "/api/v1/nodes/n1"), 403);
  EXPECT_EQ(Status("n1", "GET", "/api/v1/nodes/n1/proxy/"), 403);
}

TEST_F(NodeAuthorizerTest, PodsAreListedByTheirNodeAlone) {
  Do("POST", kDefaultSpace + "/pods",
     R"({"metadata":{"name":"theirs"},"spec":{"nodeName":"n2","containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(Status("n1", "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"), 200);
  EXPECT_EQ(Status("n1", "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1,status.phase%3DRunning"), 200);
  const std::string alone = "can only list/watch pods with spec.nodeName field selector";
  EXPECT_EQ(Why("GET", "/api/v1/pods"), alone);
  EXPECT_EQ(Why("GET", "/api/v1/pods?watch=1"), alone);
  EXPECT_EQ(Why("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2"), alone);
  EXPECT_EQ(Why("GET", "/api/v1/pods?fieldSelector=spec.nodeName%21%3Dn1"), alone);
  EXPECT_EQ(Why("GET", "/api/v1/watch/pods?fieldSelector=spec.nodeName%3Dn1"), alone);
  EXPECT_EQ(Status("n1", "GET", kDefaultSpace + "/pods/p"), 200);
  EXPECT_EQ(Status("n1", "GET", kDefaultSpace + "/pods/theirs"), 403);
  EXPECT_EQ(Status("n1", "GET", kDefaultSpace + "/pods?fieldSelector=metadata.name%3Dp"), 200);
  EXPECT_EQ(Status("n1", "GET", kDefaultSpace + "/pods?fieldSelector=metadata.name%3Dtheirs"), 403);
  EXPECT_EQ(Status("n1", "PUT", kDefaultSpace + "/pods/p", "{}"), 403);
  EXPECT_EQ(Status("n1", "GET", kDefaultSpace + "/pods/p/log"), 403);
  EXPECT_EQ(Status("n1", "POST", kDefaultSpace + "/pods/p/exec"), 403);
  EXPECT_EQ(Status("n1", "POST", kDefaultSpace + "/pods/p/binding", "{}"), 403);
}

TEST_F(NodeAuthorizerTest, ReviewsMaySelectToo) {
  const auto allowed = [&](const std::string& selector) {
    const auto reply =
        Do("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
           R"({"spec":{"user":"system:node:n1","groups":["system:nodes"],"resourceAttributes":{"verb":"list",
                              "resource":"pods")" +
               selector + "}}}");
    return reply->value()["status"]["allowed"].bool_or(false);
  };
  EXPECT_FALSE(allowed(""));
  EXPECT_TRUE(allowed(R"(,"fieldSelector":{"rawSelector":"spec.nodeName=n1"})"));
  EXPECT_FALSE(allowed(R"(,"fieldSelector":{"rawSelector":"spec.nodeName=n2"})"));
  EXPECT_TRUE(allowed(
      R"(,"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["n1"]}]})"));
  EXPECT_FALSE(allowed(
      R"(,"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"NotIn","values":["n1"]}]})"));
  EXPECT_FALSE(allowed(
      R"(,"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["n1","n2"]}]})"));
}

TEST_F(NodeAuthorizerTest, VolumesAreThoseOfItsClaims) {
  Do("POST", kDefaultSpace + "/persistentvolumeclaims",
     R"({"metadata":{"name":"claim"},"spec":{"accessModes":["ReadWriteOnce"],"volumeName":"vol",
         "resources":{"requests":{"storage":"1Gi"}}}})");
  const auto made =
      Do("POST", "/api/v1/persistentvolumes",
         R"({"metadata":{"name":"vol"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},
         "claimRef":{"namespace":"default","name":"claim"},
         "csi":{"driver":"d","volumeHandle":"h","nodePublishSecretRef":{"namespace":"default","name":"other"},
                "controllerPublishSecretRef":{"namespace":"default","name":"hidden"}}}})");
  ASSERT_EQ(made->status, 201) << made->body;
  Do("POST", kDefaultSpace + "/secrets", R"({"metadata":{"name":"hidden"}})");
  EXPECT_EQ(Status("n1", "GET", kDefaultSpace + "/persistentvolumeclaims/claim"), 200);
  EXPECT_EQ(Status("n2", "GET", kDefaultSpace + "/persistentvolumeclaims/claim"), 403);
  EXPECT_EQ(Why("GET", kDefaultSpace + "/persistentvolumeclaims?fieldSelector=metadata.name%3Dclaim"),
            "can only get individual resources of this type");
  EXPECT_EQ(Status("n1", "GET", "/api/v1/persistentvolumes/vol"), 200);
  EXPECT_EQ(Status("n2", "GET", "/api/v1/persistentvolumes/vol"), 403);
  EXPECT_EQ(Get("n1", "other"), 200);
  EXPECT_EQ(Get("n2", "other"), 403);
  EXPECT_EQ(Get("n1", "hidden"), 403);
}

TEST_F(NodeAuthorizerTest, TokensAreForAccountsOfItsPods) {
  const std::string token = kDefaultSpace + "/serviceaccounts/default/token";
  EXPECT_NE(Status("n1", "POST", token, "{}"), 403);
  EXPECT_EQ(Status("n2", "POST", token, "{}"), 403);
  EXPECT_EQ(Status("n1", "GET", kDefaultSpace + "/serviceaccounts/default"), 200);
  EXPECT_EQ(Status("n2", "GET", kDefaultSpace + "/serviceaccounts/default"), 403);
  EXPECT_EQ(Why("GET", kDefaultSpace + "/serviceaccounts"),
            "can only create tokens for individual service accounts");
}

// As a server without the ServiceAccount plugin may have stored it.
struct MirrorPodsTest : NodeAuthorizerTest {
  MirrorPodsTest() : NodeAuthorizerTest({.admission = {.disable = {"ServiceAccount"}}}) {}
};

TEST_F(MirrorPodsTest, OpenNothing) {
  Do("DELETE", kDefaultSpace + "/pods/p?gracePeriodSeconds=0");
  const auto made = Do("POST", kDefaultSpace + "/pods",
                       R"({"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":"x"}},
      "spec":{"nodeName":"n1","containers":[{"name":"c","image":"i","envFrom":[{"secretRef":{"name":"env"}}]}]}})");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(Get("n1", "env"), 403);
}

TEST_F(NodeAuthorizerTest, WhoIsNoNodeGetsNothingOfIt) {
  const std::string secret = kDefaultSpace + "/secrets/env";
  EXPECT_EQ(As({"system:node:n1", "", {}, {}}, "GET", secret)->status, 403);
  EXPECT_EQ(As({"n1", "", {"system:nodes"}, {}}, "GET", secret)->status, 403);
  EXPECT_NE(As({"system:node:", "", {"system:nodes"}, {}}, "GET", secret)
                ->message()
                .find("unknown node for user \"system:node:\""),
            std::string::npos);
  // A name that would be another selector is none.
  EXPECT_EQ(As({"system:node:x,metadata.name=p", "", {"system:nodes"}, {}}, "GET", secret)->status, 403);
}

}  // namespace
}  // namespace flyball::server
