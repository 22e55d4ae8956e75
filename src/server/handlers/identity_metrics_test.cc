#include "server/handlers/identity_metrics.h"

#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class IdentityMetricsTest : public ServerFixture {
 protected:
  bool Counted(const std::string& line) {
    return metrics_.Serialize().find(line + "\n") != std::string::npos;
  }
};

TEST_F(IdentityMetricsTest, CountsHowRequestsWereAuthenticatedAndAuthorized) {
  EXPECT_EQ(As({"ann@example.com", "", {}, {}}, "GET", "/api/v1/pods")->status, 403);
  EXPECT_EQ(As({"kubelet", "", {std::string(kMastersGroup)}, {}}, "GET", "/api/v1/pods")->status, 200);
  EXPECT_TRUE(Counted(R"(authenticated_user_requests{username="email_id"} 1)"));
  EXPECT_TRUE(Counted(R"(authenticated_user_requests{username="kubelet"} 1)"));
  EXPECT_TRUE(Counted(R"(authorization_attempts_total{result="no-opinion"} 1)"));
  EXPECT_TRUE(Counted(R"(authorization_attempts_total{result="allowed"} 1)"));
}

TEST(IdentityMetricsResultTest, AnErrorIsCountedAsOneUnlessTheRequestWasAllowed) {
  Metrics metrics;
  IdentityMetrics identity(metrics);
  const Error broken = InternalError("broken");
  identity.Authenticated(nullptr, Duration::zero());
  identity.Authorized({Decision::kNoOpinion, "", broken}, Duration::zero());
  identity.Authorized({Decision::kDeny, "", broken}, Duration::zero());
  identity.Authorized({Decision::kDeny, ""}, Duration::zero());
  identity.Authorized({Decision::kAllow, "", broken}, Duration::zero());
  const std::string text = metrics.Serialize();
  for (const char* line :
       {R"(authentication_attempts{result="failure"} 1)", R"(authorization_attempts_total{result="error"} 2)",
        R"(authorization_attempts_total{result="denied"} 1)",
        R"(authorization_attempts_total{result="allowed"} 1)"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace flyball::server
