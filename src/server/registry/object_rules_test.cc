#include "server/registry/object_rules.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "base/testing/growth.h"
#include "json/json.h"

namespace flyball::server {
namespace {

json::Value OwnedBy(int owners, int distinct) {
  json::Array list;
  for (int i = 0; i < owners; ++i)
    list.push_back(json::Object{{"apiVersion", "v1"},
                                {"kind", "ConfigMap"},
                                {"name", "owner-" + std::to_string(i % distinct)},
                                {"uid", "uid-" + std::to_string(i % distinct)}});
  return json::Object{{"ownerReferences", std::move(list)}};
}

TEST(ObjectRulesTest, RepeatedOwnersAreDroppedAndNamed) {
  json::Value metadata = OwnedBy(5, 3);
  EXPECT_EQ(DropRepeatedOwners(metadata), "uid-0, uid-1");
  EXPECT_EQ(metadata["ownerReferences"], OwnedBy(3, 3)["ownerReferences"]);
  EXPECT_EQ(DropRepeatedOwners(metadata), "");
}

// Each was compared with all before it: 20,000 took 7 seconds.
TEST(ObjectRulesTest, ManyOwnersTakeTimeInProportionToThem) {
  EXPECT_LT(GrowthOverEightfold(2'500,
                                [](int size) -> std::function<void()> {
                                  auto metadata = std::make_shared<json::Value>(OwnedBy(size, size));
                                  return [metadata] { EXPECT_EQ(DropRepeatedOwners(*metadata), ""); };
                                }),
            kMostGrowthOverEightfold);
}

}  // namespace
}  // namespace flyball::server
