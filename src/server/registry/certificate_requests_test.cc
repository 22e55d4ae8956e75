#include "server/registry/certificate_requests.h"

#include "net/tls/pki.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr char kRequests[] = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

class CertificateRequestsTest : public ServerFixture {
 protected:
  static std::string Pem(const std::string& name, const std::vector<std::string>& groups = {}) {
    return net::MakeCertificateRequest({.common_name = name, .organizations = groups})->request_pem;
  }
  static std::string Body(const std::string& pem, const std::string& more = "",
                          const std::string& signer = "kubernetes.io/kube-apiserver-client") {
    return R"({"metadata":{"name":"r"},"spec":{"request":")" + net::Base64Encode(pem) +
           R"(","signerName":")" + signer + R"(","usages":["client auth"])" + more + "}}";
  }
  std::string At(const std::string& subresource) { return std::string(kRequests) + "/r/" + subresource; }
  std::shared_ptr<Reply> Patch(const std::string& subresource, const std::string& patch) {
    return Do("PATCH", At(subresource), patch, "application/merge-patch+json");
  }
  static std::string Conditions(const std::string& type, const std::string& status = "True") {
    return R"({"status":{"conditions":[{"type":")" + type + R"(","status":")" + status + R"("}]}})";
  }
  json::Value Request() { return Do("GET", std::string(kRequests) + "/r")->value(); }
};

TEST_F(CertificateRequestsTest, WhatIsNoRequestIsRefused) {
  const std::string junk = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
  EXPECT_EQ(Do("POST", kRequests, Body(junk))->status, 422);
  EXPECT_EQ(Do("POST", kRequests, Body("junk"))->status, 422);
  EXPECT_EQ(Do("POST", kRequests, Body(Pem("jane"), R"(,"expirationSeconds":599)"))->status, 422);
  const auto legacy = Do("POST", kRequests, Body(Pem("jane"), "", "kubernetes.io/legacy-unknown"));
  EXPECT_EQ(legacy->status, 422);
  EXPECT_NE(legacy->message().find("the legacy signerName is not allowed via this API version"),
            std::string::npos);
  EXPECT_EQ(Do("POST", kRequests, Body(Pem("jane"), R"(,"expirationSeconds":600)"))->status, 201);
}

TEST_F(CertificateRequestsTest, NobodyAsksForACertificateOfTheMasters) {
  const auto reply = Do("POST", kRequests, Body(Pem("jane", {"dev", "system:masters"})));
  EXPECT_EQ(reply->status, 403);
  EXPECT_NE(reply->message().find(
                "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"),
            std::string::npos);
}

TEST_F(CertificateRequestsTest, WhoAskedIsWhatTheServerKnows) {
  ASSERT_EQ(
      Do("POST", kRequests, Body(Pem("jane"), R"(,"username":"root","groups":["system:masters"])"))->status,
      201);
  EXPECT_EQ(Request()["spec"]["username"].string_or(""), "admin");
}

TEST_F(CertificateRequestsTest, ApprovingChangesNothingButConditions) {
  ASSERT_EQ(Do("POST", kRequests, Body(Pem("jane")))->status, 201);
  const json::Value before = Request();
  const auto reply = Patch("approval", R"({"spec":{"username":"root","request":")" +
                                           net::Base64Encode(Pem("root", {"system:masters"})) +
                                           R"("},"status":{"certificate":"AAAA","conditions":[)"
                                           R"({"type":"Approved","status":"True"}]}})");
  ASSERT_EQ(reply->status, 200) << reply->body;
  const json::Value after = Request();
  EXPECT_EQ(after["spec"], before["spec"]);
  EXPECT_TRUE(after["status"]["certificate"].is_null());
  const json::Value& condition = after["status"]["conditions"].as_array().at(0);
  EXPECT_EQ(condition["type"].string_or(""), "Approved");
  EXPECT_FALSE(condition["lastUpdateTime"].is_null());
  EXPECT_FALSE(condition["lastTransitionTime"].is_null());
}

TEST_F(CertificateRequestsTest, DecisionsAreOneOfTwoAndStay) {
  ASSERT_EQ(Do("POST", kRequests, Body(Pem("jane")))->status, 201);
  EXPECT_EQ(Patch("approval", Conditions("Approved", "False"))->status, 422);
  EXPECT_EQ(Patch("approval", Conditions("", "True"))->status, 422);
  ASSERT_EQ(Patch("approval", Conditions("Approved"))->status, 200);
  const auto denied = Patch("approval", Conditions("Denied"));
  EXPECT_EQ(denied->status, 422);
  EXPECT_NE(denied->message().find("updates may not remove a condition of type \"Approved\""),
            std::string::npos);
  const auto both = Patch("approval", R"({"status":{"conditions":[{"type":"Approved","status":"True"},)"
                                      R"({"type":"Denied","status":"True"}]}})");
  EXPECT_EQ(both->status, 422);
  EXPECT_NE(both->message().find("must specify at most one of"), std::string::npos);
}

TEST_F(CertificateRequestsTest, TheStatusEndpointDoesNotApprove) {
  ASSERT_EQ(Do("POST", kRequests, Body(Pem("jane")))->status, 201);
  const auto reply = Patch("status", Conditions("Approved"));
  EXPECT_EQ(reply->status, 422);
  EXPECT_NE(reply->message().find("updates may not add a condition of type \"Approved\""), std::string::npos);
  EXPECT_EQ(Patch("status", Conditions("Failed"))->status, 200);
}

TEST_F(CertificateRequestsTest, ACertificateIsSetOnceAndIsOne) {
  ASSERT_EQ(Do("POST", kRequests, Body(Pem("jane")))->status, 201);
  const auto set = [&](const std::string& pem) {
    return Patch("status", R"({"status":{"certificate":")" + net::Base64Encode(pem) + "\"}}");
  };
  const auto now = sim_.clock().Now();
  const net::KeyPair first = *net::MakeCertificateAuthority("a", now, std::chrono::hours(1));
  const net::KeyPair second = *net::MakeCertificateAuthority("b", now, std::chrono::hours(1));
  EXPECT_EQ(set("junk")->status, 422);
  EXPECT_EQ(set(first.certificate_pem + first.private_key_pem)->status, 422);
  EXPECT_EQ(set(first.certificate_pem)->status, 200);
  const auto again = set(second.certificate_pem);
  EXPECT_EQ(again->status, 422);
  EXPECT_NE(again->message().find("updates may not modify existing certificate content"), std::string::npos);
}

TEST_F(CertificateRequestsTest, ApprovingAndSigningNeedTheRightOnTheSigner) {
  ASSERT_EQ(Do("POST", kRequests, Body(Pem("jane")))->status, 201);
  const auto create = [&](const std::string& path, const std::string& body) {
    ASSERT_EQ(Do("POST", "/apis/rbac.authorization.k8s.io/v1/" + path, body)->status, 201);
  };
  create("clusterroles", R"({"metadata":{"name":"writer"},"rules":[{"apiGroups":["certificates.k8s.io"],
    "resources":["certificatesigningrequests/approval","certificatesigningrequests/status",
    "certificatesigningrequests"],"verbs":["get","update"]}]})");
  create("clusterrolebindings", R"({"metadata":{"name":"writer"},"roleRef":{"apiGroup":
    "rbac.authorization.k8s.io","kind":"ClusterRole","name":"writer"},"subjects":[{"apiGroup":
    "rbac.authorization.k8s.io","kind":"User","name":"bob"}]})");
  const User bob{"bob", "", {std::string(kAuthenticatedGroup)}, {}};
  json::Value approved = Request();
  approved["status"] = (*json::Parse(Conditions("Approved")))["status"];
  const auto approval = As(bob, "PUT", At("approval"), json::Write(approved));
  EXPECT_EQ(approval->status, 403);
  EXPECT_NE(approval->message().find("user not permitted to approve requests with signerName \"kubernetes.io/"
                                     "kube-apiserver-client\""),
            std::string::npos)
      << approval->message();
  json::Value failed = Request();
  failed["status"] = (*json::Parse(Conditions("Failed")))["status"];
  const auto signing = As(bob, "PUT", At("status"), json::Write(failed));
  EXPECT_EQ(signing->status, 403);
  EXPECT_NE(signing->message().find("user not permitted to sign requests"), std::string::npos);
}

}  // namespace
}  // namespace flyball::server
