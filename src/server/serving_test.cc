#include "server/serving.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/run/sim_executor.h"
#include "server/certificate_renewal.h"

namespace flyball::server {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

class ServingPkiTest : public ::testing::Test {
 protected:
  ServingPkiTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "flyball-pki-XXXXXX").string();
    options_.data_dir = mkdtemp(pattern.data());
  }
  ~ServingPkiTest() override { std::filesystem::remove_all(options_.data_dir); }

  Pki Load() {
    auto pki = LoadPki(options_, sim_.clock());
    EXPECT_TRUE(pki) << pki.error().ToString();
    return pki ? *pki : Pki{};
  }
  Duration Left(const net::KeyPair& pair) {
    return net::ParseCertificate(pair.certificate_pem)->not_after - sim_.clock().Now();
  }
  std::string AdminFile() const {
    std::ifstream file(options_.data_dir + "/pki/admin.crt");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  SimExecutor sim_{1};
  ServingOptions options_;
};

TEST_F(ServingPkiTest, WhatTheAuthorityIssuesLastsAYear) {
  const Pki pki = Load();
  for (const auto* pair : {&pki.serving, &pki.admin, &pki.node_client}) {
    EXPECT_LE(Left(*pair), 365 * kDay);
    EXPECT_GT(Left(*pair), 364 * kDay);
  }
  EXPECT_GT(Left(pki.ca), 3600 * kDay);
  EXPECT_TRUE(net::ParseCertificate(pki.node_client.certificate_pem)->organizations.empty());
}

TEST_F(ServingPkiTest, TheAdministratorsIsKeptUntilMostOfItsLifeIsOver) {
  const Pki first = Load();
  sim_.RunFor(200 * kDay);
  EXPECT_EQ(Load().admin.certificate_pem, first.admin.certificate_pem);
  sim_.RunFor(60 * kDay);
  const Pki later = Load();
  EXPECT_NE(later.admin.certificate_pem, first.admin.certificate_pem);
  EXPECT_EQ(later.ca.certificate_pem, first.ca.certificate_pem);
  EXPECT_GT(Left(later.admin), 364 * kDay);
  EXPECT_EQ(AdminFile(), later.admin.certificate_pem);
}

TEST_F(ServingPkiTest, OneForTenYearsOrOfAnotherAuthorityIsReplaced) {
  const Pki pki = Load();
  const auto put = [&](const net::KeyPair& authority, Duration validity) {
    const auto pair = net::IssueCertificate(
        authority, {.common_name = "kubernetes-admin", .organizations = {"system:masters"}, .client = true},
        sim_.clock().Now(), validity);
    std::ofstream(options_.data_dir + "/pki/admin.crt") << pair->certificate_pem;
    std::ofstream(options_.data_dir + "/pki/admin.key") << pair->private_key_pem;
    return pair->certificate_pem;
  };
  const auto replaced = [&](const net::KeyPair& authority, Duration validity) {
    const std::string given = put(authority, validity);
    return Load().admin.certificate_pem != given;
  };
  EXPECT_TRUE(replaced(pki.ca, 3650 * kDay));
  EXPECT_TRUE(
      replaced(*net::MakeCertificateAuthority("kubernetes", sim_.clock().Now(), 3650 * kDay), 300 * kDay));
  EXPECT_FALSE(replaced(pki.ca, 300 * kDay));
}

TEST_F(ServingPkiTest, CertificatesAreRenewedWhileTheServerRuns) {
  const Pki first = Load();
  std::vector<Pki> used;
  auto renewal = std::make_shared<CertificateRenewal>(options_, first, sim_, [&](const Pki& pki) {
    used.push_back(pki);
    return used.size() == 1 ? Status(Unexpected(InternalError("no"))) : Status();
  });
  renewal->Start();
  sim_.RunFor(250 * kDay);
  EXPECT_TRUE(used.empty());
  sim_.RunFor(10 * kDay);
  ASSERT_EQ(used.size(), 2u) << "what failed once is tried again";
  EXPECT_EQ(used[0].serving.certificate_pem, used[1].serving.certificate_pem);
  EXPECT_NE(used[0].serving.certificate_pem, first.serving.certificate_pem);
  EXPECT_NE(used[0].node_client.certificate_pem, first.node_client.certificate_pem);
  EXPECT_EQ(AdminFile(), used[0].admin.certificate_pem);
  sim_.RunFor(260 * kDay);
  EXPECT_EQ(used.size(), 3u) << "and the next time";
  renewal->Stop();
  sim_.RunFor(1000 * kDay);
  EXPECT_EQ(used.size(), 3u);
}

TEST_F(ServingPkiTest, ACertificateOfTheUsersOwnIsLeftAlone) {
  const net::KeyPair other = *net::MakeCertificateAuthority("other", sim_.clock().Now(), 3650 * kDay);
  const auto own =
      net::IssueCertificate(other, {.common_name = "api", .server = true}, sim_.clock().Now(), 30 * kDay);
  options_.tls_cert_file = options_.data_dir + "/own.crt";
  options_.tls_private_key_file = options_.data_dir + "/own.key";
  std::ofstream(options_.tls_cert_file) << own->certificate_pem;
  std::ofstream(options_.tls_private_key_file) << own->private_key_pem;
  Pki pki = Load();
  EXPECT_GT(NextRenewal(pki), sim_.clock().Now() + 200 * kDay);
  sim_.RunFor(300 * kDay);
  ASSERT_TRUE(RenewPki(options_, sim_.clock(), pki));
  EXPECT_EQ(pki.serving.certificate_pem, own->certificate_pem);
}

}  // namespace
}  // namespace flyball::server
