#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class ImpersonationTest : public ServerFixture {
 protected:
  // Who the server takes the user for with these headers; the message if it refuses.
  std::string WhoAmI(const User& user, const net::Headers& headers) {
    const auto reply = Ask(user, headers);
    if (reply->status != 201) return std::to_string(reply->status);
    const auto info = reply->value()["status"]["userInfo"];
    std::string text(info["username"].string_or(""));
    if (info["groups"].is_array())
      for (const auto& group : info["groups"].as_array()) text += " " + std::string(group.string_or(""));
    return text;
  }
  std::shared_ptr<Reply> Ask(const User& user, const net::Headers& headers) {
    others_.push_back(server_->InProcess(user));
    net::Request request;
    request.method = "POST";
    request.target = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    request.body = "{}";
    request.headers = headers;
    request.headers.Set("content-type", "application/json");
    return Send(*others_.back(), std::move(request));
  }
  const User admin_user_{"admin", "", {"system:masters"}, {}}, eve_{"eve", "", {}, {}};
};

TEST_F(ImpersonationTest, AServiceAccountHasItsGroups) {
  EXPECT_EQ(WhoAmI(admin_user_, {{"impersonate-user", "system:serviceaccount:kube-system:x"}}),
            "system:serviceaccount:kube-system:x system:serviceaccounts system:serviceaccounts:kube-system "
            "system:authenticated");
}

TEST_F(ImpersonationTest, ANameThatIsNoServiceAccountsHasNoneOfTheirGroups) {
  for (const std::string name :
       {"system:serviceaccount:kube-system", "system:serviceaccount:kube-system:x:y",
        "system:serviceaccount:", "system:serviceaccount:kube-system:", "system:serviceaccount::x",
        "system:serviceaccount:UPPER:x", "system:serviceaccount:kube-system:no_name"})
    EXPECT_EQ(WhoAmI(admin_user_, {{"impersonate-user", name}}), name + " system:authenticated");
}

TEST_F(ImpersonationTest, ANameThatIsNoServiceAccountsIsAUser) {
  Grant("eve", R"([{"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["impersonate"]}])");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "system:serviceaccount:default:x:y"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "system:serviceaccount:default"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "system:serviceaccount:default:x"}}),
            "system:serviceaccount:default:x system:serviceaccounts system:serviceaccounts:default "
            "system:authenticated");
}

TEST_F(ImpersonationTest, EachPartIsAskedFor) {
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}}), "403");
  Grant("eve",
        R"([{"apiGroups":[""],"resources":["users"],"resourceNames":["bob"],"verbs":["impersonate"]}])");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}}), "bob system:authenticated");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "alice"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-group", "system:masters"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-uid", "1"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-extra-scopes", "all"}}), "403");
  Grant("eve", R"([{"apiGroups":[""],"resources":["groups"],"resourceNames":["dev"],"verbs":["impersonate"]},
      {"apiGroups":["authentication.k8s.io"],"resources":["uids"],"resourceNames":["1"],"verbs":["impersonate"]},
      {"apiGroups":["authentication.k8s.io"],"resources":["userextras/scopes"],"resourceNames":["some"],
       "verbs":["impersonate"]}])");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-group", "dev"}}),
            "bob dev system:authenticated");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"},
                          {"impersonate-group", "dev"},
                          {"impersonate-group", "system:masters"}}),
            "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-uid", "1"}}),
            "bob system:authenticated");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-uid", "2"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-extra-scopes", "some"}}),
            "bob system:authenticated");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-extra-scopes", "all"}}), "403");
  EXPECT_EQ(WhoAmI(eve_, {{"impersonate-user", "bob"}, {"impersonate-extra-other", "some"}}), "403");
}

TEST_F(ImpersonationTest, GroupsAloneAreNobody) {
  EXPECT_EQ(WhoAmI(admin_user_, {{"impersonate-group", "dev"}}), "400");
  EXPECT_EQ(WhoAmI(admin_user_, {{"impersonate-uid", "1"}}), "400");
}

TEST_F(ImpersonationTest, WhoActsAsSomebodyElseHasTheirRightsOnly) {
  others_.push_back(server_->InProcess(admin_user_));
  net::Request request;
  request.target = "/api/v1/namespaces/kube-system/secrets";
  request.headers.Set("impersonate-user", "bob");
  EXPECT_EQ(Send(*others_.back(), std::move(request))->status, 403);
}

TEST_F(ImpersonationTest, NobodyComesToBeAuthenticatedWhoAsksNotToBe) {
  EXPECT_EQ(
      WhoAmI(admin_user_, {{"impersonate-user", "bob"}, {"impersonate-group", "system:unauthenticated"}}),
      "403");  // the review itself is for authenticated users
  EXPECT_EQ(Ask(admin_user_, {{"impersonate-user", "system:anonymous"}})->status, 403);
}

}  // namespace
}  // namespace flyball::server
