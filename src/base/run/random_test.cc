#include "base/run/random.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/observe/metrics.h"

namespace flyball {
namespace {

TEST(RandomTest, ASeedReplays) {
  Random a(42), b(42), c(43);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_EQ(a.NameSuffix(), b.NameSuffix());
  EXPECT_NE(a.Next(), c.Next());
}

TEST(RandomTest, UuidsAreOfVersionFourAndDiffer) {
  Random random(1);
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto uuid = random.Uuid();
    EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

TEST(RandomTest, BelowStaysBelow) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(7), 7u);
}

TEST(MetricsTest, SameNameAndLabelsAreOneCounter) {
  Metrics metrics;
  metrics.GetCounter("requests_total", "help", {{"verb", "get"}}).Add();
  metrics.GetCounter("requests_total", "help", {{"verb", "get"}}).Add(2);
  metrics.GetGauge("depth", "help").Set(4);
  const auto text = metrics.Serialize();
  EXPECT_NE(text.find("requests_total{verb=\"get\"} 3"), std::string::npos) << text;
  EXPECT_NE(text.find("depth 4"), std::string::npos) << text;
}

}  // namespace
}  // namespace flyball
