#include "network/balancer/balancer_addresses.h"

#include <gmock/gmock.h>

#include "network/testing/objects.h"

namespace flyball::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// `more` follows in the spec; `has` is the address in its status.
std::shared_ptr<const Service> Balancer(const std::string& name, const std::string& more = "",
                                        const std::string& has = "", int second = 0) {
  return std::make_shared<Service>(ObjectFrom<Service>(
      "metadata: {namespace: default, name: " + name + ", creationTimestamp: '2026-01-01T00:00:0" +
      std::to_string(second) + "Z'}\nspec: {type: LoadBalancer, ipFamilies: [IPv4], ports: [{port: 80}]" +
      more + "}\nstatus: {loadBalancer: {ingress: [" + (has.empty() ? "" : "{ip: " + has + "}") + "]}}"));
}

BalancerPool Ranges(const std::string& text) {
  return {.ranges = *ParseAddressRanges(text), .shared = {}};
}

std::vector<std::string> Given(const BalancerPlan& plan) {
  std::vector<std::string> texts;
  for (const auto& [name, addresses] : plan.addresses) {
    std::string text = name;
    for (const auto& address : addresses) text += " " + address.ToString();
    texts.push_back(text);
  }
  return texts;
}

TEST(BalancerAddressesTest, ReadsRanges) {
  const auto ranges = ParseAddressRanges("192.0.2.16/30,192.0.2.40-192.0.2.41,2001:db8::10/127");
  ASSERT_TRUE(ranges) << ranges.error().message();
  ASSERT_EQ(ranges->size(), 3u);
  EXPECT_EQ(ranges->at(0).first.ToString() + " " + ranges->at(0).last.ToString(), "192.0.2.16 192.0.2.19");
  EXPECT_EQ(ranges->at(2).last.ToString(), "2001:db8::11");
  EXPECT_TRUE(ranges->at(1).Contains(*api::ParseIp("192.0.2.41")));
  EXPECT_FALSE(ranges->at(1).Contains(*api::ParseIp("192.0.2.42")));
  EXPECT_THAT(*ParseAddressRanges(""), IsEmpty());
  for (const char* bad :
       {"192.0.2.1", "192.0.2.9-192.0.2.1", "192.0.2.1-2001:db8::1", "10.0.0.0/8", "2001:db8::/32", "a-b"})
    EXPECT_FALSE(ParseAddressRanges(bad)) << bad;
}

TEST(BalancerAddressesTest, GivesEachServiceOneOfARangeInTheOrderOfTheirAge) {
  const auto plan =
      PlanBalancers(Ranges("192.0.2.16-192.0.2.17"),
                    {Balancer("a", "", "", 2), Balancer("b", "", "", 1), Balancer("c", "", "", 3)});
  EXPECT_THAT(Given(plan), ElementsAre("default/a 192.0.2.17", "default/b 192.0.2.16"));
  EXPECT_THAT(plan.refused,
              ElementsAre(Pair("default/c", HasSubstr("192.0.2.17 belongs to the Service default/a"))));
}

TEST(BalancerAddressesTest, LetsServicesKeepWhatTheyHave) {
  const auto pool = Ranges("192.0.2.16-192.0.2.20");
  EXPECT_THAT(Given(PlanBalancers(pool, {Balancer("new", "", "", 0), Balancer("old", "", "192.0.2.16", 1)})),
              ElementsAre("default/new 192.0.2.17", "default/old 192.0.2.16"));
  EXPECT_THAT(Given(PlanBalancers(pool, {Balancer("moved", "", "198.51.100.1")})),
              ElementsAre("default/moved 192.0.2.16"));
  EXPECT_THAT(Given(PlanBalancers(
                  pool, {Balancer("one", "", "192.0.2.18", 1), Balancer("two", "", "192.0.2.18", 2)})),
              ElementsAre("default/one 192.0.2.18", "default/two 192.0.2.16"));
}

TEST(BalancerAddressesTest, GivesTheAddressThatIsAskedFor) {
  const auto pool = Ranges("192.0.2.16-192.0.2.20");
  EXPECT_THAT(Given(PlanBalancers(pool, {Balancer("a", ", loadBalancerIP: 192.0.2.19", "192.0.2.16")})),
              ElementsAre("default/a 192.0.2.19"));
  const auto plan = PlanBalancers(pool, {Balancer("a", ", loadBalancerIP: 192.0.2.99")});
  EXPECT_THAT(plan.addresses, IsEmpty());
  EXPECT_THAT(plan.refused.at("default/a"), HasSubstr("192.0.2.99 is not an address that is given out here"));
}

TEST(BalancerAddressesTest, SharesTheNodesAddressByPorts) {
  const BalancerPool pool{.ranges = {}, .shared = {*api::ParseIp("198.51.100.2")}};
  auto other = *Balancer("other", "", "", 2);
  other.spec.ports.front().port = 81;
  const auto plan = PlanBalancers(
      pool, {Balancer("a", "", "", 1), std::make_shared<Service>(other), Balancer("b", "", "", 3)});
  EXPECT_THAT(Given(plan), ElementsAre("default/a 198.51.100.2", "default/other 198.51.100.2"));
  EXPECT_THAT(plan.refused.at("default/b"),
              HasSubstr("port 80/TCP of 198.51.100.2 belongs to the Service default/a"));
}

TEST(BalancerAddressesTest, LeavesOthersAlone) {
  auto cluster_ip = *Balancer("a");
  cluster_ip.spec.type = "ClusterIP";
  const auto plan = PlanBalancers(
      Ranges("192.0.2.16/28"),
      {std::make_shared<Service>(cluster_ip), Balancer("b", ", loadBalancerClass: example.com/x")});
  EXPECT_THAT(plan.addresses, IsEmpty());
  EXPECT_THAT(plan.refused, IsEmpty());
  EXPECT_THAT(Given(PlanBalancers(Ranges("192.0.2.16/28"),
                                  {Balancer("c", ", loadBalancerClass: flyball.dev/load-balancer")})),
              ElementsAre("default/c 192.0.2.16"));
}

TEST(BalancerAddressesTest, GivesAnAddressOfEachFamily) {
  auto dual = *Balancer("a");
  dual.spec.ip_families = {"IPv6", "IPv4"};
  auto v6 = *Balancer("b");
  v6.spec.ip_families = {"IPv6"};
  EXPECT_THAT(
      Given(PlanBalancers(Ranges("192.0.2.16/28,2001:db8::10/124"), {std::make_shared<Service>(dual)})),
      ElementsAre("default/a 192.0.2.16 2001:db8::10"));
  // What there is, is given; if there is nothing, it says so.
  EXPECT_THAT(Given(PlanBalancers(Ranges("192.0.2.16/28"), {std::make_shared<Service>(dual)})),
              ElementsAre("default/a 192.0.2.16"));
  EXPECT_THAT(PlanBalancers(Ranges("192.0.2.16/28"), {std::make_shared<Service>(v6)}).refused.at("default/b"),
              HasSubstr("no address of its IP families"));
}

}  // namespace
}  // namespace flyball::network
