// Settings of the kernel for a node's namespace (sysctl), and whether it is a router.
#pragma once

#include <string>

#include "base/values/result.h"
#include "network/nft/nftables.h"

namespace flyball::network {

// Sets `net/<name>` in the namespace that the calling thread is in. False: the kernel does not have it.
bool SetSysctl(const std::string& name, const std::string& value);
std::string ReadSysctl(const std::string& name);

enum class Family { kV4, kV6 };

// Whether the namespace that the calling thread is in has IPv6.
bool HasIpv6();

// Lets the node pass packets on. Returns true if it did not before, or if that was so for another cluster
// that runs here: then packets that no cluster has to do with are not to be passed on (PodFilters::closed).
// Links whose addresses of IPv6 come from routers' advertisements go on listening to these.
bool EnableForwarding(Nftables& nft, Family family);
// The reverse, once no cluster is left here that has closed the way.
void DisableForwarding(Nftables& nft, Family family);

}  // namespace flyball::network
