#include "cli/data/etcd_overrides.h"

#include <gtest/gtest.h>

namespace flyball::cli {
namespace {

using Texts = std::vector<std::string>;

std::string Refusal(std::string_view text) {
  const auto parsed = ParseEtcdOverrides(text);
  return parsed ? "" : parsed.error().message();
}

TEST(EtcdOverridesTest, ResourcesWithTheSameServersShareThem) {
  const auto parsed = ParseEtcdOverrides(
      "/events#http://a:1;http://b:1,coordination.k8s.io/leases#http://c:1,/nodes#http://b:1;http://a:1");
  ASSERT_TRUE(parsed) << parsed.error().message();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].prefixes, (Texts{"/registry/events/", "/registry/minions/"}));
  EXPECT_EQ((*parsed)[0].endpoints, (Texts{"http://a:1", "http://b:1"}));
  EXPECT_EQ((*parsed)[1].prefixes, (Texts{"/registry/leases/"}));
}

TEST(EtcdOverridesTest, NothingMeansNothing) {
  EXPECT_TRUE(ParseEtcdOverrides("")->empty());
}

TEST(EtcdOverridesTest, OtherFormsAreRefused) {
  for (const auto text :
       {"events#http://a:1", "/events", "/events#", "/events#http://a:1;", "/a/b#http://a:1"})
    EXPECT_NE(Refusal(text).find("must be of format: group/resource#servers"), std::string::npos) << text;
}

TEST(EtcdOverridesTest, ResourcesThatAreUnknownOrRepeatedOrTiedToOthersAreRefused) {
  EXPECT_NE(Refusal("apps/evnts#http://a:1").find("no built-in resource is apps/evnts"), std::string::npos);
  EXPECT_NE(Refusal("/events#http://a:1,events.k8s.io/events#http://b:1").find("twice"), std::string::npos);
  EXPECT_NE(Refusal("/services#http://a:1").find("one transaction"), std::string::npos);
  EXPECT_NE(Refusal("networking.k8s.io/ipaddresses#http://a:1").find("one transaction"), std::string::npos);
}

}  // namespace
}  // namespace flyball::cli
