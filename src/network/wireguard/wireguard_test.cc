#include "network/wireguard/wireguard.h"

#include <gtest/gtest.h>

#include "network/netlink/netlink.h"
#include "network/testing/own_namespace.h"

namespace flyball::network {
namespace {

constexpr std::uint16_t kTestFamily = 0x1f;

std::string HexOf(const NetlinkMessage& message) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : message.Encode(1)) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The header of the message, and what all begin with: set device, version 1, interface "wg0".
std::string Head(const std::string& length) {
  return length + "0000" + "1f00" + "0500" + "01000000" + "00000000" + "01010000" + "0800" + "0200" +
         "77673000";
}

TEST(WireguardTest, SaysWhoseKeyADeviceHas) {
  EXPECT_EQ(HexOf(WireguardDeviceMessage(kTestFamily, "wg0", std::string(32, '\x11'), 51820)),
            Head("5000") + "0800" + "0500" + "01000000" + "2400" + "0300" + Repeated("11", 32) + "0600" +
                "0600" + "6cca0000");
}

TEST(WireguardTest, SaysWhereAPeerIsAndWhatItSends) {
  const WireguardPeer peer{std::string(32, '\x22'),
                           *api::ParseIp("192.0.2.9"),
                           51820,
                           {*api::ParseCidr("10.244.1.7/24"), *api::ParseCidr("fd00::/64")}};
  const std::string v4 =
      "1c00"
      "0080"
      "0600"
      "0100"
      "02000000"
      "0800"
      "0200"
      "0af40100"
      "0500"
      "0300"
      "18000000";
  const std::string v6 =
      "2800"
      "0080"
      "0600"
      "0100"
      "0a000000"
      "1400"
      "0200"
      "fd000000" +
      Repeated("00", 12) +
      "0500"
      "0300"
      "40000000";
  EXPECT_EQ(HexOf(WireguardPeerMessage(kTestFamily, "wg0", peer)),
            Head("a400") + "8800" + "0880" + "8400" + "0080" + "2400" + "0100" + Repeated("22", 32) + "1400" +
                "0400" + "0200ca6cc0000209" + Repeated("00", 8) + "4800" + "0980" + v4 + v6);
}

TEST(WireguardTest, TakesAPeerAway) {
  EXPECT_EQ(HexOf(WireguardRemoveMessage(kTestFamily, "wg0", std::string(32, '\x22'))),
            Head("5000") + "3400" + "0880" + "3000" + "0080" + "2400" + "0100" + Repeated("22", 32) + "0800" +
                "0300" + "05000000");
}

// Whatever the kernel has: it takes the messages, or there is one clear answer.
TEST(WireguardTest, IsThereOrSaysThatItIsNot) {
  InOwnNamespace([] {
    const auto wireguard = Wireguard::Open();
    if (!wireguard) {
      EXPECT_EQ(wireguard.error().message(), "the kernel has no WireGuard");
      return;
    }
    const auto netlink = Netlink::Open();
    ASSERT_TRUE((*netlink)->AddWireguard("wg0", 1420));
    const Status set = (*wireguard)->SetDevice("wg0", std::string(32, '\x11'), 51820);
    EXPECT_TRUE(set) << set.error().message();
    const Status added = (*wireguard)
                             ->AddPeer("wg0", {std::string(32, '\x22'),
                                               *api::ParseIp("192.0.2.9"),
                                               51820,
                                               {*api::ParseCidr("10.1.0.0/24")}});
    EXPECT_TRUE(added) << added.error().message();
    EXPECT_TRUE((*wireguard)->RemovePeer("wg0", std::string(32, '\x22')));
  });
}

}  // namespace
}  // namespace flyball::network
