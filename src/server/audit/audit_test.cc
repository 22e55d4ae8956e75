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
  explicit AuditTest(const std::string& path) : ServerFixture(Options(path)), path_(path) {}
  ~AuditTest() override { std::filesystem::remove(path_); }
  static std::string NewFile() {
    std::string name = testing::TempDir() + "auditXXXXXX";
    ::close(::mkstemp(name.data()));
    return name;
  }
  static ApiServerOptions Options(const std::string& path) {
    ApiServerOptions options;
    options.audit.log.path = path;
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
