#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class ConstrainedImpersonation : public ServerFixture {
 protected:
  std::shared_ptr<Reply> GetAs(const std::string& user, const std::string& target) {
    others_.push_back(server_->InProcess({"eve", "", {"system:authenticated"}, {}}));
    net::Request request;
    request.method = "GET";
    request.target = target;
    request.headers.Set("impersonate-user", user);
    return Send(*others_.back(), std::move(request));
  }
  const std::string pods_ = "/api/v1/namespaces/default/pods";
};

TEST_F(ConstrainedImpersonation, WithoutRightsTheFirstModeIsNamed) {
  EXPECT_EQ(GetAs("bob", pods_)->message(),
            "pods is forbidden: User \"eve\" cannot impersonate-on:user-info:list resource \"pods\" in API "
            "group \"\" in the namespace \"default\"");
}

TEST_F(ConstrainedImpersonation, TheOldRightIsEnough) {
  Grant("eve", R"([{"apiGroups":[""],"resources":["users"],"verbs":["impersonate"]}])");
  // bob himself may do nothing.
  EXPECT_EQ(
      GetAs("bob", pods_)->message(),
      "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the namespace "
      "\"default\"");
}

TEST_F(ConstrainedImpersonation, ConstrainedNeedsBothRights) {
  Grant("eve",
        R"([{"apiGroups":["authentication.k8s.io"],"resources":["users"],"verbs":["impersonate:user-info"]},
            {"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:list"]}])");
  EXPECT_NE(GetAs("bob", pods_)->message().find("User \"bob\" cannot list"), std::string::npos);
  EXPECT_NE(GetAs("bob", "/api/v1/namespaces/default/secrets")
                ->message()
                .find("cannot impersonate-on:user-info:list resource \"secrets\""),
            std::string::npos);
  // Another mode has rights of its own.
  EXPECT_NE(GetAs("system:node:n", pods_)->message().find("impersonate-on:arbitrary-node:list"),
            std::string::npos);
}

}  // namespace
}  // namespace flyball::server
