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

}  // namespace
}  // namespace flyball::controllers
