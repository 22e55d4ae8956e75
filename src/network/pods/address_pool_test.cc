#include "network/pods/address_pool.h"

#include <gtest/gtest.h>

namespace flyball::network {
namespace {

api::Cidr Range(const char* text) {
  return *api::ParseCidr(text);
}

std::string TakeText(AddressPool& pool) {
  const auto taken = pool.Take();
  return taken ? taken->ToString() : "none";
}

TEST(AddressPoolTest, LeavesOutTheNetworkTheGatewayAndTheBroadcastAddress) {
  AddressPool pool(Range("10.1.2.0/29"));
  EXPECT_EQ(pool.gateway().ToString(), "10.1.2.1");
  for (const char* address : {"10.1.2.2", "10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.2.6", "none"})
    EXPECT_EQ(TakeText(pool), address);
}

TEST(AddressPoolTest, GivesAReleasedAddressOutLast) {
  AddressPool pool(Range("10.1.2.0/29"));
  const auto first = pool.Take();
  pool.Release(*first);
  for (const char* address : {"10.1.2.3", "10.1.2.4", "10.1.2.5", "10.1.2.6", "10.1.2.2", "none"})
    EXPECT_EQ(TakeText(pool), address);
}

TEST(AddressPoolTest, KeepsWhatIsInUse) {
  AddressPool pool(Range("10.1.2.0/24"));
  EXPECT_TRUE(pool.Keep(*api::ParseIp("10.1.2.2")));
  EXPECT_FALSE(pool.Keep(*api::ParseIp("10.1.2.2")));
  EXPECT_FALSE(pool.Keep(*api::ParseIp("10.1.3.2")));
  EXPECT_EQ(TakeText(pool), "10.1.2.3");
}

TEST(AddressPoolTest, KnowsIpv6) {
  AddressPool pool(Range("fd00:1:2::/64"));
  EXPECT_EQ(pool.gateway().ToString(), "fd00:1:2::1");
  EXPECT_EQ(TakeText(pool), "fd00:1:2::2");
}

}  // namespace
}  // namespace flyball::network
