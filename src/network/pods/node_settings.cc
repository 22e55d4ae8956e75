#include "network/pods/node_settings.h"

#include <filesystem>
#include <fstream>

#include "network/pods/pod_filters.h"

namespace flyball::network {
namespace {

const char* ForwardingOf(Family family) {
  return family == Family::kV4 ? "ipv4/ip_forward" : "ipv6/conf/all/forwarding";
}

bool AnyCloses(Nftables& nft, Family family) {
  const auto chains = nft.Query("list chains inet");
  return chains && chains->find(ClosedChain(family == Family::kV6) + " {") != std::string::npos;
}

// A router of IPv6 does not listen to other routers, unless that is set to 2.
void KeepListeningToRouters() {
  std::error_code error;
  for (const auto& link : std::filesystem::directory_iterator("/proc/sys/net/ipv6/conf", error)) {
    const std::string setting = "ipv6/conf/" + link.path().filename().string() + "/accept_ra";
    if (ReadSysctl(setting) == "1") SetSysctl(setting, "2");
  }
}

}  // namespace

bool SetSysctl(const std::string& name, const std::string& value) {
  std::ofstream file("/proc/sys/net/" + name);
  file << value << std::flush;
  return file.good();
}

std::string ReadSysctl(const std::string& name) {
  std::ifstream file("/proc/sys/net/" + name);
  std::string value;
  file >> value;
  return value;
}

bool HasIpv6() {
  return ReadSysctl("ipv6/conf/all/disable_ipv6") == "0";
}

bool EnableForwarding(Nftables& nft, Family family) {
  const bool was_off = ReadSysctl(ForwardingOf(family)) == "0";
  if (was_off && family == Family::kV6) KeepListeningToRouters();
  if (was_off) SetSysctl(ForwardingOf(family), "1");
  return was_off || AnyCloses(nft, family);
}

void DisableForwarding(Nftables& nft, Family family) {
  if (!AnyCloses(nft, family)) SetSysctl(ForwardingOf(family), "0");
}

}  // namespace flyball::network
