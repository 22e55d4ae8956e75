// Certificates of nodes against the real API server, on virtual time. Who signs is this test.
#include "node/certificates/certificate_manager.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/run/sim_executor.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;
using Csr = CertificateSigningRequest;

class CertificateManagerTest : public ::testing::Test {
 protected:
  CertificateManagerTest()
      : executor_(1),
        store_(store::NewMemoryStore(executor_)),
        server_(*server::ApiServer::Make({}, *store_, executor_, executor_.random(), metrics_)),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        client_(std::make_shared<RestClient>(
            server_->InProcess({.name = "admin", .groups = {"system:masters", "system:authenticated"}}),
            runtime_)),
        authority_(*net::MakeCertificateAuthority("ca", executor_.clock().Now(), 24h * 3650)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "flyball-cert-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~CertificateManagerTest() override {
    if (manager_) manager_->Stop();
    server_->Stop();
    executor_.RunFor(1min);
    std::filesystem::remove_all(dir_);
  }

  std::string File() const { return dir_ + "/pki/kubelet-client-current.pem"; }
  void Start(const std::string& file) {
    if (manager_) manager_->Stop();
    manager_ = std::make_shared<CertificateManager>(
        NodeClientCertificate("n1", file), [this] { return client_; },
        [this](const net::KeyPair& pair) { used_.push_back(pair); });
    manager_->Start();
    executor_.RunFor(1s);
  }
  std::vector<Csr> Requests() { return client_.List<Csr>()->items; }
  void Decide(const Csr& csr, const std::string& type) {
    Csr decided = csr;
    CertificateSigningRequestCondition condition;
    condition.type = type;
    condition.status = "True";
    condition.reason = "Test";
    decided.status.conditions.push_back(condition);
    WriteParams params;
    params.subresource = "approval";
    ASSERT_TRUE(client_.Update(decided, params));
  }
  void Issue(const Csr& csr, Duration lifetime, const std::string& request_pem = "") {
    Csr current = *client_.Get<Csr>("", csr.metadata.name);
    const TimePoint now = executor_.clock().Now();
    const auto pem =
        net::SignCertificateRequest(authority_, request_pem.empty() ? csr.spec.request : request_pem,
                                    {now, now + lifetime, {}, {"clientAuth"}});
    ASSERT_TRUE(pem) << pem.error().ToString();
    current.status.certificate = *pem;
    const auto written = client_.UpdateStatus(current);
    ASSERT_TRUE(written) << written.error().ToString();
    executor_.RunFor(1s);
  }
  void ApproveAndIssue(const Csr& csr, Duration lifetime = 24h * 365) {
    Decide(csr, "Approved");
    Issue(csr, lifetime);
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<server::ApiServer> server_;
  Runtime runtime_;
  Client client_;
  net::KeyPair authority_;
  std::string dir_;
  std::shared_ptr<CertificateManager> manager_;
  std::vector<net::KeyPair> used_;
};

TEST_F(CertificateManagerTest, AsksOnceAndUsesWhatIsIssued) {
  Start(File());
  const auto requests = Requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].spec.signer_name, "kubernetes.io/kube-apiserver-client-kubelet");
  const auto asked = net::ParseCertificateRequest(requests[0].spec.request);
  EXPECT_EQ(asked->common_name, "system:node:n1");
  EXPECT_EQ(asked->organizations, std::vector<std::string>{"system:nodes"});
  EXPECT_TRUE(used_.empty());
  ApproveAndIssue(requests[0]);
  ASSERT_EQ(used_.size(), 1u);
  EXPECT_TRUE(net::IsKeyOf(used_[0].private_key_pem, used_[0].certificate_pem));
  struct stat info {};
  ASSERT_EQ(::stat(File().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  executor_.RunFor(24h);
  EXPECT_EQ(Requests().size(), 1u);
}

TEST_F(CertificateManagerTest, ACertificateOnlyIssuedWithoutApprovalIsNotTaken) {
  Start("");
  Issue(Requests()[0], 24h);
  EXPECT_TRUE(used_.empty());
}

TEST_F(CertificateManagerTest, AKeptCertificateIsUsedAtStartWithoutAsking) {
  Start(File());
  ApproveAndIssue(Requests()[0]);
  Start(File());
  ASSERT_EQ(used_.size(), 2u);
  EXPECT_EQ(used_[0].certificate_pem, used_[1].certificate_pem);
  EXPECT_EQ(Requests().size(), 1u);
}

TEST_F(CertificateManagerTest, AKeptCertificateThatHasExpiredOrIsBrokenIsAskedForAnew) {
  Start(File());
  ApproveAndIssue(Requests()[0], 10min);
  manager_->Stop();
  executor_.RunFor(1h);
  const auto before = Requests().size();
  Start(File());
  EXPECT_EQ(Requests().size(), before + 1);
  EXPECT_EQ(used_.size(), 1u);
  std::ofstream(File()) << "-----BEGIN CERTIFICATE-----\n";
  Start(File());
  EXPECT_EQ(Requests().size(), before + 2);
}

TEST_F(CertificateManagerTest, RenewsWhenMostOfItsLifeIsOver) {
  Start(File());
  ApproveAndIssue(Requests()[0], 100h);
  executor_.RunFor(69h);
  EXPECT_EQ(Requests().size(), 1u);
  for (int i = 0; i < 22 * 12 && Requests().size() == 1; ++i) executor_.RunFor(5min);
  const auto requests = Requests();
  ASSERT_EQ(requests.size(), 2u);
  for (const Csr& csr : requests)
    if (csr.status.certificate.empty()) ApproveAndIssue(csr, 100h);
  ASSERT_EQ(used_.size(), 2u);
  EXPECT_NE(used_[0].private_key_pem, used_[1].private_key_pem);
  EXPECT_EQ(CertificateFile(File()).Load()->certificate_pem, used_[1].certificate_pem);
}

TEST_F(CertificateManagerTest, AsksAgainAfterARefusal) {
  Start("");
  Decide(Requests()[0], "Denied");
  executor_.RunFor(10s);
  ASSERT_EQ(Requests().size(), 2u);
  for (const Csr& csr : Requests())
    if (csr.status.conditions.empty()) ApproveAndIssue(csr);
  EXPECT_EQ(used_.size(), 1u);
}

TEST_F(CertificateManagerTest, ACertificateOfAnotherKeyIsNotUsed) {
  Start("");
  const Csr csr = Requests()[0];
  Decide(csr, "Approved");
  Issue(csr, 24h, net::MakeCertificateRequest({.common_name = "system:node:n1"})->request_pem);
  EXPECT_TRUE(used_.empty());
  executor_.RunFor(10s);
  EXPECT_EQ(Requests().size(), 2u);
}

TEST_F(CertificateManagerTest, NothingHappensAfterStop) {
  Start("");
  manager_->Stop();
  executor_.RunFor(1s);
  ApproveAndIssue(Requests()[0]);
  executor_.RunFor(24h);
  EXPECT_TRUE(used_.empty());
  EXPECT_EQ(Requests().size(), 1u);
}

TEST(RenewalTimeTest, IsBetween70And90PercentOfTheLife) {
  SimExecutor executor(7);
  net::CertificateInfo info;
  info.not_before = TimePoint(std::chrono::hours(1'000'000 / 24));
  info.not_after = info.not_before + 1000h;
  for (int i = 0; i < 100; ++i) {
    const Duration after = RenewalTime(info, executor.random()) - info.not_before;
    EXPECT_GE(after, 700h);
    EXPECT_LE(after, 900h);
  }
}

}  // namespace
}  // namespace flyball::node
