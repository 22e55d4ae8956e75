// Who may ask for, approve and sign certificates.
#include "server/testing/request_texts.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kRequestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const std::string kGroupRule = R"({"apiGroups":["certificates.k8s.io"],)";

class CertificatesTest : public ServerFixture {
 protected:
  static std::string Request(const std::string& name, const std::string& signer, const std::string& pem,
                             const std::string& members = "") {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"signerName":")" + signer +
           R"(","usages":["digital signature","client auth"],"request":")" + pem + R"(")" + members + "}}";
  }
  std::shared_ptr<Reply> Approve(const std::string& name) {
    return As(eve_, "PATCH", kRequestsPath + "/" + name + "/approval",
              R"({"status":{"conditions":[{"type":"Approved","status":"True","reason":"r","message":"m"}]}})",
              kMerge);
  }
  std::shared_ptr<Reply> Fail(const std::string& name) {
    return As(eve_, "PATCH", kRequestsPath + "/" + name + "/status",
              R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"r","message":"m"}]}})",
              kMerge);
  }
  static constexpr char kMerge[] = "application/merge-patch+json";
  const User eve_{"eve", "1", {"dev"}, {}};
};

TEST_F(CertificatesTest, NobodyAsksForACertificateOfMasters) {
  const auto refused =
      Do("POST", kRequestsPath, Request("a", "kubernetes.io/kube-apiserver-client", kMastersRequest));
  EXPECT_EQ(refused->message(),
            "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: use of "
            "kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
  EXPECT_EQ(
      Do("POST", kRequestsPath, Request("a", "kubernetes.io/kube-apiserver-client", kUserRequest))->status,
      201);
  // Other signers answer for themselves.
  EXPECT_EQ(Do("POST", kRequestsPath, Request("b", "example.com/mine", kMastersRequest))->status, 201);
}

TEST_F(CertificatesTest, ApprovingNeedsTheSigner) {
  Grant("eve", "[" + kGroupRule + R"("resources":["certificatesigningrequests/approval"],"verbs":["*"]}])");
  for (const char* name : {"a", "b"})
    Do("POST", kRequestsPath, Request(name, "example.com/mine", kUserRequest));
  EXPECT_EQ(
      Approve("a")->message(),
      "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: user not permitted to approve "
      "requests with signerName \"example.com/mine\"");
  Grant("eve", "[" + kGroupRule +
                   R"("resources":["signers"],"resourceNames":["example.com/other"],"verbs":["approve"]}])");
  EXPECT_EQ(Approve("a")->status, 403);
  Grant("eve", "[" + kGroupRule +
                   R"("resources":["signers"],"resourceNames":["example.com/mine"],"verbs":["sign"]}])");
  EXPECT_EQ(Approve("a")->status, 403);
  Grant("eve", "[" + kGroupRule +
                   R"("resources":["signers"],"resourceNames":["example.com/*"],"verbs":["approve"]}])");
  EXPECT_EQ(Approve("a")->status, 200);
}

TEST_F(CertificatesTest, SigningNeedsTheSigner) {
  Grant("eve", "[" + kGroupRule + R"("resources":["certificatesigningrequests/status"],"verbs":["*"]}])");
  Do("POST", kRequestsPath, Request("a", "example.com/mine", kUserRequest));
  EXPECT_EQ(Fail("a")->message(),
            "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: user not permitted to sign "
            "requests "
            "with signerName \"example.com/mine\"");
  Grant("eve", "[" + kGroupRule +
                   R"("resources":["signers"],"resourceNames":["example.com/mine"],"verbs":["approve"]}])");
  EXPECT_EQ(Fail("a")->status, 403);
  Grant("eve", "[" + kGroupRule +
                   R"("resources":["signers"],"resourceNames":["example.com/mine"],"verbs":["sign"]}])");
  EXPECT_EQ(Fail("a")->status, 200);
}

TEST_F(CertificatesTest, WhoAskedIsNotWhatTheySay) {
  Grant("eve", "[" + kGroupRule + R"("resources":["certificatesigningrequests"],"verbs":["create"]}])");
  const auto made = As(eve_, "POST", kRequestsPath,
                       Request("a", "example.com/mine", kUserRequest,
                               R"(,"username":"admin","groups":["system:masters"],"uid":"0")"));
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->value()["spec"]["username"].string_or(""), "eve");
  EXPECT_EQ(json::Write(made->value()["spec"]["groups"]), R"(["dev","system:authenticated"])");
}

TEST_F(CertificatesTest, AnApprovalIsOfTheRequestInThePath) {
  for (const char* name : {"a", "b"})
    Do("POST", kRequestsPath, Request(name, "example.com/mine", kUserRequest));
  json::Value other = Do("GET", kRequestsPath + "/b")->value();
  EXPECT_EQ(Do("PUT", kRequestsPath + "/a/approval", json::Write(other))->status, 400);
  EXPECT_EQ(Do("PATCH", kRequestsPath + "/a/approval", R"({"metadata":{"name":"b"}})", kMerge)->status, 400);
}

}  // namespace
}  // namespace flyball::server
