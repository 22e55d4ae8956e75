#include "controllers/controllers.h"

#include <gtest/gtest.h>

namespace flyball::controllers {
namespace {

TEST(ControllersTest, NamesAreParsedAsKubeControllerManagerDoes) {
  const auto list = ParseControllers("*,-replicaset,deployment-controller");
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, (std::vector<std::string>{"*", "-replicaset-controller", "deployment-controller"}));
  EXPECT_FALSE(IsEnabled(*list, "replicaset-controller"));
  EXPECT_TRUE(IsEnabled(*list, "deployment-controller"));
  EXPECT_TRUE(IsEnabled(*list, "namespace-controller"));
  EXPECT_FALSE(IsEnabled({"deployment-controller"}, "namespace-controller"));
  EXPECT_FALSE(ParseControllers("*,-nonsense"));
}

TEST(ControllersTest, SomeAreOffUnlessNamed) {
  for (const auto name : {"bootstrap-signer-controller", "token-cleaner-controller",
                          "kubelet-serving-certificate-approving-controller"}) {
    EXPECT_FALSE(IsEnabled({"*"}, name)) << name;
    EXPECT_TRUE(IsEnabled({"*", name}, name)) << name;
  }
  EXPECT_EQ(*ParseControllers("tokencleaner"), std::vector<std::string>{"token-cleaner-controller"});
  // A controller without an old name is not found under an empty one.
  EXPECT_FALSE(ParseControllers("*,,job"));
}

}  // namespace
}  // namespace flyball::controllers
