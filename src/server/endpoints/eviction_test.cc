#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class EvictionTest : public ServerFixture {
 protected:
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  static constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  static constexpr const char* kMergePatch = "application/merge-patch+json";

  EvictionTest() {
    Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  }
  // A running pod on a node, so that it stays while it ends.
  void MakePod(const std::string& ready) {
    Do("POST", kPods,
       R"({"metadata":{"name":"p","labels":{"app":"p"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
    Do("PATCH", std::string(kPods) + "/p/status",
       R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" + ready + R"("}]}})",
       kMergePatch);
  }
  void MakeBudget(const std::string& status, const std::string& spec = "") {
    Do("POST", kBudgets,
       R"({"metadata":{"name":"b"},"spec":{"minAvailable":1)" + spec +
           R"(,"selector":{"matchLabels":{"app":"p"}}}})");
    Do("PATCH", std::string(kBudgets) + "/b/status", R"({"status":{"observedGeneration":1,)" + status + "}}",
       kMergePatch);
  }
  auto Evict(const std::string& name = "p") {
    return Do("POST", std::string(kPods) + "/p/eviction", R"({"metadata":{"name":")" + name + R"("}})");
  }
  json::Value Pod() { return Do("GET", std::string(kPods) + "/p")->value(); }
};

TEST_F(EvictionTest, ThePodIsToldWhyItGoes) {
  MakePod("True");
  EXPECT_EQ(Evict()->status, 201);
  const json::Value pod = Pod();
  EXPECT_FALSE(pod["metadata"]["deletionTimestamp"].is_null());
  const json::Value& target = pod["status"]["conditions"].as_array().at(1);
  EXPECT_EQ(target["type"].string_or(""), "DisruptionTarget");
  EXPECT_EQ(target["status"].string_or(""), "True");
  EXPECT_EQ(target["reason"].string_or(""), "EvictionByEvictionAPI");
  EXPECT_EQ(target["message"].string_or(""), "Eviction API: evicting");
  EXPECT_EQ(target["observedGeneration"].int_or(0), 1);
}

// kubectl asks again by itself after Retry-After, which would hang it: only a budget that is about to be
// worked on says when.
TEST_F(EvictionTest, ASpentBudgetDoesNotSayWhenToAskAgain) {
  MakePod("True");
  MakeBudget(R"("disruptionsAllowed":0,"desiredHealthy":1,"currentHealthy":1)");
  const auto refused = Evict();
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.Get("retry-after"), "");
  EXPECT_EQ(refused->value()["details"]["causes"].as_array().at(0)["message"].string_or(""),
            "The disruption budget b needs 1 healthy pods and has 1 currently");
  Do("PATCH", std::string(kBudgets) + "/b/status", R"({"status":{"observedGeneration":0}})", kMergePatch);
  EXPECT_EQ(Evict()->headers.Get("retry-after"), "10");
  EXPECT_TRUE(Pod()["metadata"]["deletionTimestamp"].is_null());
  EXPECT_EQ(Pod()["status"]["conditions"].size(), 1u);
}

TEST_F(EvictionTest, TheLastOneAllowedSaysThatNoneIsLeft) {
  MakePod("True");
  MakeBudget(R"("disruptionsAllowed":1,"desiredHealthy":1,"currentHealthy":2)");
  EXPECT_EQ(Evict()->status, 201);
  const json::Value status = Do("GET", std::string(kBudgets) + "/b")->value()["status"];
  EXPECT_EQ(status["disruptionsAllowed"].int_or(-1), 0);
  EXPECT_TRUE(status["disruptedPods"]["p"].is_string());
  EXPECT_EQ(status["conditions"].as_array().at(0)["reason"].string_or(""), "InsufficientPods");
}

TEST_F(EvictionTest, APodThatIsNotReadyGoesIfThereAreEnoughOthers) {
  MakePod("False");
  MakeBudget(R"("disruptionsAllowed":0,"desiredHealthy":1,"currentHealthy":1)");
  EXPECT_EQ(Evict()->status, 201);
  EXPECT_TRUE(Do("GET", std::string(kBudgets) + "/b")->value()["status"]["disruptedPods"].is_null());
}

TEST_F(EvictionTest, APodThatIsNotReadyIsHeldOrNotAsTheBudgetSays) {
  MakePod("False");
  MakeBudget(R"("disruptionsAllowed":0,"desiredHealthy":1,"currentHealthy":0)");
  EXPECT_EQ(Evict()->status, 429);
  Do("PATCH", std::string(kBudgets) + "/b", R"({"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}})",
     kMergePatch);
  EXPECT_EQ(Evict()->status, 201);
}

TEST_F(EvictionTest, ATryOrAnotherNameChangesNothing) {
  MakePod("True");
  MakeBudget(R"("disruptionsAllowed":1,"desiredHealthy":1,"currentHealthy":2)");
  EXPECT_EQ(Evict("q")->message(), "name in URL does not match name in Eviction object");
  EXPECT_EQ(Do("POST", std::string(kPods) + "/p/eviction?dryRun=All", R"({"metadata":{"name":"p"}})")->status,
            201);
  EXPECT_TRUE(Pod()["metadata"]["deletionTimestamp"].is_null());
  EXPECT_EQ(Do("GET", std::string(kBudgets) + "/b")->value()["status"]["disruptionsAllowed"].int_or(0), 1);
}

}  // namespace
}  // namespace flyball::server
