// Who may ask for, approve and sign certificates.
#include "net/tls/pki.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kRequestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const std::string kGroupRule = R"({"apiGroups":["certificates.k8s.io"],)";

class CertificatesTest : public ServerFixture {
 protected:
  static std::string Request(const std::string& name, const std::string& signer,
                             const std::string& group = "dev") {
    const auto made = net::MakeCertificateRequest({.common_name = "eve", .organizations = {group}});
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"signerName":")" + signer +
           R"(","usages":["digital signature","client auth"],"request":")" +
           net::Base64Encode(made->request_pem) + R"("}})";
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

// Only the signer of client certificates for the API server: others answer for themselves.
TEST_F(CertificatesTest, OtherSignersMaySignForMasters) {
  EXPECT_EQ(Do("POST", kRequestsPath, Request("a", "kubernetes.io/kube-apiserver-client", "system:masters"))
                ->status,
            403);
  EXPECT_EQ(Do("POST", kRequestsPath, Request("b", "example.com/mine", "system:masters"))->status, 201);
}

TEST_F(CertificatesTest, ApprovingNeedsTheSigner) {
  Grant("eve", "[" + kGroupRule + R"("resources":["certificatesigningrequests/approval"],"verbs":["*"]}])");
  for (const char* name : {"a", "b"}) Do("POST", kRequestsPath, Request(name, "example.com/mine"));
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
  Do("POST", kRequestsPath, Request("a", "example.com/mine"));
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

TEST_F(CertificatesTest, AnApprovalIsOfTheRequestInThePath) {
  for (const char* name : {"a", "b"}) Do("POST", kRequestsPath, Request(name, "example.com/mine"));
  json::Value other = Do("GET", kRequestsPath + "/b")->value();
  EXPECT_EQ(Do("PUT", kRequestsPath + "/a/approval", json::Write(other))->status, 400);
  EXPECT_EQ(Do("PATCH", kRequestsPath + "/a/approval", R"({"metadata":{"name":"b"}})", kMerge)->status, 400);
}

}  // namespace
}  // namespace flyball::server
