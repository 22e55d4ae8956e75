#include "informer/initial_items.h"

#include <gtest/gtest.h>

#include "api/types/core.h"

namespace flyball {
namespace {

TEST(InitialItemsTest, TheLastThatWasSaidOfEachIsLeft) {
  const auto first = std::make_shared<const ConfigMap>(), second = std::make_shared<const ConfigMap>();
  InitialItems items;
  items.Put("a", first);
  items.Put("b", first);
  items.Put("c", first);
  items.Put("b", second);  // changed
  items.Remove("a");       // deleted
  items.Remove("c");
  items.Put("c", second);  // deleted, and created again
  items.Remove("never there");

  const auto left = items.Take();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].key, "b");
  EXPECT_EQ(left[0].object, second);
  EXPECT_EQ(left[1].key, "c");
  EXPECT_EQ(left[1].object, second);
  EXPECT_TRUE(items.Take().empty());
}

}  // namespace
}  // namespace flyball
