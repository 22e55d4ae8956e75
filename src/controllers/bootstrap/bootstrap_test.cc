#include "controllers/bootstrap/bootstrap_token.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class BootstrapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"bootstrap-signer-controller", "token-cleaner-controller"};
    plane_.StartControllers(options);
  }
  void Token(const std::string& id, const std::string& more, const std::string& name = "") {
    plane_.Create("{apiVersion: v1, kind: Secret, type: bootstrap.kubernetes.io/token, metadata: {name: '" +
                  (name.empty() ? "bootstrap-token-" + id : name) +
                  "', namespace: kube-system}, stringData: {token-id: '" + id +
                  "', token-secret: abcdef0123456789" + more + "}}");
    plane_.Run(2s);
  }
  std::string In(Duration d) { return api::FormatTime(plane_.executor.clock().Now() + d); }
  std::map<std::string, std::string> Info() {
    return plane_.Get<ConfigMap>("kube-public", "cluster-info").data;
  }
  void ClusterInfo() {
    plane_.Create(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: cluster-info, namespace: kube-public}, "
        "data: {kubeconfig: payload}}");
    plane_.Run(2s);
  }
  testing::ControlPlane plane_;
};

TEST(BootstrapTokenTest, SignsAsKubeadmDoes) {
  // From upstream's jws_test.go.
  EXPECT_EQ(DetachedSignature("Hello from the other side. I must have called a thousand times.",
                              {"joshua", "my voice is my passcode"}),
            "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8");
}

TEST_F(BootstrapTest, TheClusterInfoIsSignedByTokensThatMay) {
  ClusterInfo();
  Token("aaaaaa", ", usage-bootstrap-signing: 'true'");
  Token("bbbbbb", ", usage-bootstrap-signing: 'false'");
  Token("cccccc", "");
  Token("dddddd", ", usage-bootstrap-signing: 'true'", "bootstrap-token-xxxxxx");
  Token("EEEEEE", ", usage-bootstrap-signing: 'true'", "bootstrap-token-eeeeee");
  auto info = Info();
  EXPECT_EQ(info.size(), 2u);
  EXPECT_EQ(info["jws-kubeconfig-aaaaaa"], DetachedSignature("payload", {"aaaaaa", "abcdef0123456789"}));
  ASSERT_TRUE(plane_.client->Delete<Secret>("kube-system", "bootstrap-token-aaaaaa"));
  plane_.Run(2s);
  EXPECT_EQ(Info().size(), 1u);
}

TEST_F(BootstrapTest, SignaturesAreMadeAnewWhenTheContentChanges) {
  ClusterInfo();
  Token("aaaaaa", ", usage-bootstrap-signing: 'true'");
  plane_.MergePatch<ConfigMap>("kube-public", "cluster-info", "{data: {kubeconfig: other}}");
  plane_.Run(2s);
  EXPECT_EQ(Info()["jws-kubeconfig-aaaaaa"], DetachedSignature("other", {"aaaaaa", "abcdef0123456789"}));
}

TEST_F(BootstrapTest, ExpiredTokensAreDeletedWhenTheirTimeHasCome) {
  ClusterInfo();
  Token("aaaaaa", ", usage-bootstrap-signing: 'true', expiration: '" + In(1h) + "'");
  Token("bbbbbb", ", expiration: 'soon'");
  Token("cccccc", "");
  EXPECT_EQ(Info().size(), 2u);
  EXPECT_FALSE(plane_.Exists<Secret>("kube-system", "bootstrap-token-bbbbbb"));
  plane_.Run(58min);
  EXPECT_TRUE(plane_.Exists<Secret>("kube-system", "bootstrap-token-aaaaaa"));
  plane_.Run(3min);
  EXPECT_FALSE(plane_.Exists<Secret>("kube-system", "bootstrap-token-aaaaaa"));
  EXPECT_TRUE(plane_.Exists<Secret>("kube-system", "bootstrap-token-cccccc"));
  EXPECT_EQ(Info().size(), 1u);
}

TEST_F(BootstrapTest, SecretsOfOtherTypesAreLeftAlone) {
  plane_.Create(
      "{apiVersion: v1, kind: Secret, metadata: {name: bootstrap-token-aaaaaa, namespace: "
      "kube-system}, stringData: {expiration: '" +
      In(-1h) + "'}}");
  plane_.Create(
      "{apiVersion: v1, kind: Secret, type: bootstrap.kubernetes.io/token, metadata: {name: x, "
      "namespace: default}, stringData: {expiration: '" +
      In(-1h) + "'}}");
  plane_.Run(1h);
  EXPECT_TRUE(plane_.Exists<Secret>("kube-system", "bootstrap-token-aaaaaa"));
  EXPECT_TRUE(plane_.Exists<Secret>("default", "x"));
}

}  // namespace
}  // namespace flyball::controllers
