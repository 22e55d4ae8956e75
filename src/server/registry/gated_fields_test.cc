// Fields behind feature gates, times the server fills in, and addresses by the stricter rules.
#include "api/schema/feature_gates.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class GatedFields : public ServerFixture {};

TEST_F(GatedFields, AreDroppedWhileTheGateIsOff) {
  ASSERT_EQ(
      Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})")->status,
      201);
  const auto made = Do("POST", std::string(kPods) + "?dryRun=All",
                       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x:1",
                       "lifecycle":{"stopSignal":"SIGUSR1"}}],
                       "volumes":[{"name":"v","emptyDir":{"mode":511}}]}})");
  const auto pod = made->value();
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(json::Write(pod["spec"]["volumes"].as_array()[0]["emptyDir"]), "{}");
  EXPECT_TRUE(pod["spec"]["containers"].as_array()[0]["lifecycle"].is_null());
}

TEST_F(GatedFields, ATaintOfADeviceHasTheTimeItWasAdded) {
  const auto made =
      Do("POST", "/apis/resource.k8s.io/v1/devicetaintrules",
         R"({"metadata":{"name":"t"},"spec":{"taint":{"key":"a.com/b","effect":"NoExecute"}}})");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_FALSE(made->value()["spec"]["taint"]["timeAdded"].is_null());
  EXPECT_EQ(made->value()["metadata"]["generation"].int_or(0), 1);
}

TEST_F(GatedFields, OldAddressesStayValid) {
  constexpr const char* kServices = "/api/v1/namespaces/default/services";
  const std::string text =
      R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"externalIPs":["192.0.2.010"]}})";
  const auto refused = Do("POST", kServices, text);
  EXPECT_EQ(refused->status, 422);
  EXPECT_NE(refused->message().find("must not have leading 0s"), std::string::npos) << refused->body;
  api::FeatureGates before(api::ProcessGates()), old(api::ProcessGates());
  ASSERT_TRUE(old.Set("StrictIPCIDRValidation=false"));
  api::SetProcessGates(old);
  const auto made = Do("POST", kServices, text);
  api::SetProcessGates(before);
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(Do("PATCH", std::string(kServices) + "/s", R"({"metadata":{"labels":{"a":"b"}}})",
               "application/merge-patch+json")
                ->status,
            200);
  EXPECT_EQ(Do("PATCH", std::string(kServices) + "/s", R"({"spec":{"externalIPs":["192.0.2.011"]}})",
               "application/merge-patch+json")
                ->status,
            422);
}

TEST_F(GatedFields, AResourceVersionIsRefusedOnlyWhenAnObjectIsStored) {
  constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  const std::string text = R"({"metadata":{"name":"m","resourceVersion":"5"}})";
  EXPECT_EQ(Do("POST", std::string(kMaps) + "?dryRun=All", text)->status, 201);
  EXPECT_EQ(Do("POST", kMaps, text)->message(), "resourceVersion should not be set on objects to be created");
  EXPECT_EQ(Do("POST", kMaps, R"({"metadata":{"name":"M!","resourceVersion":"5"}})")->status, 422);
}

TEST_F(GatedFields, TheNamespaceOfAClusterWideObjectIsCleared) {
  const auto made = Do("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                       R"({"metadata":{"name":"p","namespace":"default"},"value":1})");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_TRUE(made->value()["metadata"]["namespace"].is_null());
}

TEST_F(GatedFields, DeletesOfUnreadableObjectsDoNotTouchReadableOnes) {
  constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  constexpr const char* kOption = R"({"ignoreStoreReadErrorWithClusterBreakingPotential":true})";
  ASSERT_EQ(Do("POST", kMaps, R"({"metadata":{"name":"m"}})")->status, 201);
  EXPECT_EQ(Do("DELETE", std::string(kMaps) + "/m", kOption)->status, 409);
  EXPECT_EQ(Do("DELETE", kMaps, kOption)->status, 422);
  EXPECT_EQ(Do("GET", std::string(kMaps) + "/m")->status, 200);
}

}  // namespace
}  // namespace flyball::server
