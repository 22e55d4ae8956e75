#include "cli/observe/metrics_text.h"

#include <gtest/gtest.h>

namespace flyball::cli {
namespace {

constexpr const char* kBefore = R"(# TYPE wait histogram
wait_bucket{name="a",le="0.1"} 1
wait_bucket{name="a",le="1"} 1
wait_bucket{name="a",le="+Inf"} 1
)";
constexpr const char* kAfter = R"(depth{name="a"} 3
depth{name="b \"quoted\", with a comma"} 4
plain 2.5e3
wait_bucket{name="a",le="0.1"} 2
wait_bucket{name="a",le="1"} 101
wait_bucket{name="a",le="+Inf"} 101
)";

TEST(MetricsText, ReadsNamesLabelsAndValues) {
  const MetricsPage page(kAfter);
  EXPECT_EQ(page.Sum("plain"), 2500);
  EXPECT_EQ(page.Sum("depth"), 7);
  EXPECT_EQ(page.Sum("depth", "name", "a"), 3);
  EXPECT_EQ(page.Values("depth", "name"), (std::vector<std::string>{"a", "b \"quoted\", with a comma"}));
  EXPECT_EQ(page.Sum("none"), 0);
}

TEST(MetricsText, QuantilesAreOfWhatWasCountedInBetween) {
  const MetricsPage before(kBefore), after(kAfter);
  EXPECT_EQ(QuantileBetween(before, after, "wait", 0.99, "name", "a"), 1);
  EXPECT_EQ(QuantileBetween(before, after, "wait", 0.01, "name", "a"), 0.1);
  EXPECT_EQ(QuantileBetween(after, after, "wait", 0.99), 0);
}

}  // namespace
}  // namespace flyball::cli
