#include "server/audit/audit.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class AuditTest : public ServerFixture {
 protected:
  AuditTest() : AuditTest(NewFile()) {}
  explicit AuditTest(const std::string& path) : AuditTest(path, Options(path)) {}
  AuditTest(const std::string& path, const ApiServerOptions& options) : ServerFixture(options), path_(path) {}
  ~AuditTest() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".policy");
  }
  static std::string NewFile() {
    std::string name = testing::TempDir() + "auditXXXXXX";
    ::close(::mkstemp(name.data()));
    return name;
  }
  static ApiServerOptions Options(const std::string& path) {
    ApiServerOptions options;
    options.audit.log.path = path;
    options.audit.policy_file = path + ".policy";
    std::ofstream(options.audit.policy_file)
        << "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";
    return options;
  }
  std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  const std::string path_;
};

TEST_F(AuditTest, AccessTokensOfTheQueryAreNotKept) {
  Do("GET", "/version?a=1&access_token=s3cret&b=2");
  Do("GET", "/version?%61ccess_token=s3cret");
  Do("GET", "/version?ACCESS_TOKEN=s3cret&access_token");
  const std::string log = Log();
  EXPECT_EQ(log.find("s3cret"), std::string::npos) << log;
  EXPECT_NE(log.find("/version?a=1&access_token=REDACTED&b=2"), std::string::npos) << log;
}

class AuditWithoutPolicyTest : public AuditTest {
 protected:
  AuditWithoutPolicyTest() : AuditWithoutPolicyTest(NewFile()) {}
  explicit AuditWithoutPolicyTest(const std::string& path) : AuditTest(path, Plain(path)) {}
  static ApiServerOptions Plain(const std::string& path) {
    ApiServerOptions options;
    options.audit.log.path = path;
    return options;
  }
};

// As in kube-apiserver: a log without a policy stays empty.
TEST_F(AuditWithoutPolicyTest, NothingIsRecorded) {
  Do("GET", "/version");
  EXPECT_EQ(Log(), "");
}

TEST_F(AuditTest, TokensOfHeadersAreNotKept) {
  With({{"authorization", "Bearer s3cret"}}, "GET", "/version");
  With({{"upgrade", "websocket"},
        {"sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.czNjcmV0, a"}},
       "GET", "/version");
  const std::string log = Log();
  EXPECT_NE(log.find("/version"), std::string::npos);
  EXPECT_EQ(log.find("s3cret"), std::string::npos) << log;
  EXPECT_EQ(log.find("czNjcmV0"), std::string::npos) << log;
}

}  // namespace
}  // namespace flyball::server
