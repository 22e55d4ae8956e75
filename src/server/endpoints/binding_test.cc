#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class BindingTest : public ServerFixture {
 protected:
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";

  BindingTest() {
    Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  }
  void MakePod(const std::string& of_spec = "") {
    ASSERT_EQ(
        Do("POST", kPods,
           R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}])" + of_spec + "}}")
            ->status,
        201);
  }
  auto Bind(const std::string& target, const std::string& of_metadata = "") {
    return Do("POST", std::string(kPods) + "/p/binding",
              R"({"metadata":{"name":"p")" + of_metadata + R"(},"target":)" + target + "}");
  }
  json::Value Pod() { return Do("GET", std::string(kPods) + "/p")->value(); }
};

constexpr const char* kNodeN = R"({"kind":"Node","name":"n"})";

TEST_F(BindingTest, APodGetsItsNodeAndWhatTheBindingBrings) {
  MakePod();
  const std::string uid(Pod()["metadata"]["uid"].string_or(""));
  ASSERT_EQ(
      Bind(kNodeN, R"(,"uid":")" + uid + R"(","annotations":{"from":"scheduler"},"labels":{"zone":"z"})")
          ->status,
      201);
  const json::Value pod = Pod();
  EXPECT_EQ(pod["spec"]["nodeName"].string_or(""), "n");
  EXPECT_EQ(pod["metadata"]["annotations"]["from"].string_or(""), "scheduler");
  EXPECT_EQ(pod["metadata"]["labels"]["zone"].string_or(""), "z");
  const json::Value& condition = pod["status"]["conditions"].as_array().at(0);
  EXPECT_EQ(condition["type"].string_or(""), "PodScheduled");
  EXPECT_EQ(condition["status"].string_or(""), "True");
}

TEST_F(BindingTest, APodIsBoundOnce) {
  MakePod();
  ASSERT_EQ(Bind(kNodeN)->status, 201);
  const auto again = Bind(R"({"name":"other"})");
  EXPECT_EQ(again->status, 409);
  EXPECT_NE(again->message().find("pod p is already assigned to node \"n\""), std::string::npos);
  EXPECT_EQ(Pod()["spec"]["nodeName"].string_or(""), "n");
}

TEST_F(BindingTest, AnotherPodOfTheSameNameIsNotBound) {
  MakePod();
  const auto bound = Bind(kNodeN, R"(,"uid":"of-the-one-before")");
  EXPECT_EQ(bound->status, 409);
  EXPECT_NE(bound->message().find("pod p has a different uid"), std::string::npos);
}

TEST_F(BindingTest, APodThatIsHeldBackIsNotBound) {
  MakePod(R"(,"schedulingGates":[{"name":"example.com/wait"}])");
  const auto bound = Bind(kNodeN);
  EXPECT_EQ(bound->status, 409);
  EXPECT_NE(bound->message().find("pod p has non-empty .spec.schedulingGates"), std::string::npos);
}

TEST_F(BindingTest, APodThatEndsIsNotBound) {
  ASSERT_EQ(Do("POST", kPods,
               R"({"metadata":{"name":"p","finalizers":["example.com/wait"]},
                   "spec":{"containers":[{"name":"c","image":"i"}]}})")
                ->status,
            201);
  Do("DELETE", std::string(kPods) + "/p");
  const auto bound = Bind(kNodeN);
  EXPECT_EQ(bound->status, 409);
  EXPECT_NE(bound->message().find("pod p is being deleted, cannot be assigned to a host"), std::string::npos);
}

TEST_F(BindingTest, TheTargetIsANodeWithAName) {
  MakePod();
  // As upstream, these are plain errors and no field errors.
  EXPECT_EQ(Bind(R"({"kind":"Service","name":"n"})")->message(),
            R"(target.kind: Unsupported value: "Service": supported values: "Node", "<empty>")");
  EXPECT_EQ(Bind(R"({"kind":"Node"})")->status, 500);
  EXPECT_EQ(
      Do("POST", std::string(kPods) + "/p/binding", R"({"metadata":{"name":"q"},"target":{"name":"n"}})")
          ->message(),
      "name in URL does not match name in Binding object");
  EXPECT_EQ(
      Do("POST", std::string(kPods) + "/q/binding", R"({"metadata":{"name":"q"},"target":{"name":"n"}})")
          ->status,
      404);
  EXPECT_TRUE(Pod()["spec"]["nodeName"].is_null());
}

}  // namespace
}  // namespace flyball::server
