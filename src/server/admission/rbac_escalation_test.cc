// Nobody grants what they do not have, however it is written.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kRbac = "/apis/rbac.authorization.k8s.io/v1";
const char* const kRoleMerge = "application/merge-patch+json";

class RbacEscalationTest : public ServerFixture {
 protected:
  RbacEscalationTest() {
    Grant("eve", R"([{"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"],
        "verbs":["get","create","update","patch"]}])");
  }
  std::shared_ptr<Reply> Patch(const std::string& path, const std::string& body) {
    return As(eve_, "PATCH", kRbac + path, body, kRoleMerge);
  }
  int ViewersDeletePods() {
    return Do("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
              R"({"spec":{"user":"viewer","resourceAttributes":{"verb":"delete","resource":"secrets",
                  "namespace":"kube-system"}}})")
                   ->value()["status"]["allowed"]
                   .bool_or(false)
               ? 1
               : 0;
  }
  const User eve_{"eve", "", {}, {}};
};

TEST_F(RbacEscalationTest, ALabelThatAggregatesARoleGrantsItsRules) {
  Bind("viewer", "ClusterRole", "view");
  const auto labelled =
      Patch("/clusterroles/cluster-admin",
            R"({"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}})");
  EXPECT_EQ(labelled->status, 403) << labelled->body;
  EXPECT_NE(labelled->message().find("is attempting to grant RBAC permissions not currently held"),
            std::string::npos);
  EXPECT_EQ(ViewersDeletePods(), 0);
}

TEST_F(RbacEscalationTest, EveryUpdateOfARoleConfirmsItsRules) {
  Do("POST", kRbac + "/namespaces/default/roles",
     R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]})");
  EXPECT_EQ(Patch("/namespaces/default/roles/r", R"({"metadata":{"annotations":{"a":"b"}}})")->status, 403);
  EXPECT_EQ(Patch("/clusterroles/cluster-admin", R"({"metadata":{"annotations":{"a":"b"}}})")->status, 403);
  Grant("eve", R"([{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}])");
  EXPECT_EQ(Patch("/namespaces/default/roles/r", R"({"metadata":{"annotations":{"a":"b"}}})")->status, 200);
}

TEST_F(RbacEscalationTest, WhatGarbageCollectionNeedsMayChange) {
  const std::string owner =
      R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"m",
      "uid":"u"}],"finalizers":["example.com/f"]}})";
  EXPECT_EQ(Patch("/clusterroles/cluster-admin", owner)->status, 200);
  EXPECT_EQ(Patch("/clusterrolebindings/cluster-admin", owner)->status, 200);
  EXPECT_EQ(Patch("/clusterrolebindings/cluster-admin", R"({"metadata":{"labels":{"a":"b"}}})")->status, 403);
}

TEST_F(RbacEscalationTest, AggregationNeedsFullAuthority) {
  const std::string aggregating =
      R"({"metadata":{"name":"x"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})";
  const auto created = As(eve_, "POST", kRbac + "/clusterroles", aggregating);
  EXPECT_EQ(created->status, 403);
  EXPECT_EQ(created->message(),
            "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: must have cluster-admin privileges "
            "to use the "
            "aggregationRule");
  // Nor may a role lose its rule: then nobody would tighten it any more.
  ASSERT_EQ(Do("POST", kRbac + "/clusterroles", aggregating)->status, 201);
  EXPECT_EQ(Patch("/clusterroles/x", R"({"aggregationRule":null})")->status, 403);
}

// The authorizer counts what a role aggregates before anybody has written it into the role's rules.
TEST_F(RbacEscalationTest, BindingAnAggregatedRoleGrantsWhatItAggregates) {
  Do("POST", kRbac + "/clusterroles",
     R"({"metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"part":"yes"}}]}})");
  Do("POST", kRbac + "/clusterroles",
     R"({"metadata":{"name":"part","labels":{"part":"yes"}},
         "rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]})");
  EXPECT_EQ(
      As(eve_, "POST", kRbac + "/clusterrolebindings",
         R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
                   "name":"sum"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"eve"}]})")
          ->status,
      403);
}

TEST_F(RbacEscalationTest, EscalateForANameDoesNotCreate) {
  Grant("eve", R"([{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"resourceNames":["r"],
      "verbs":["escalate"]}])");
  const std::string role =
      R"({"metadata":{"name":"r"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]})";
  EXPECT_EQ(As(eve_, "POST", kRbac + "/namespaces/default/roles", role)->status, 403);
  Do("POST", kRbac + "/namespaces/default/roles", R"({"metadata":{"name":"r"}})");
  EXPECT_EQ(As(eve_, "PUT", kRbac + "/namespaces/default/roles/r", role)->status, 200);
}

}  // namespace
}  // namespace flyball::server
