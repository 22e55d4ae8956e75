#include "network/pods/node_settings.h"

#include <fstream>

#include "network/pods/pod_filters.h"

namespace flyball::network {
namespace {

constexpr char kForwarding[] = "ipv4/ip_forward";

bool AnyCloses(Nftables& nft) {
  const auto chains = nft.Query("list chains inet");
  return chains && chains->find(kClosedChain) != std::string::npos;
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

bool EnableForwarding(Nftables& nft) {
  const bool was_off = ReadSysctl(kForwarding) == "0";
  if (was_off) SetSysctl(kForwarding, "1");
  return was_off || AnyCloses(nft);
}

void DisableForwarding(Nftables& nft) {
  if (!AnyCloses(nft)) SetSysctl(kForwarding, "0");
}

}  // namespace flyball::network
