// Settings of the kernel for a node's namespace (sysctl), and whether it is a router.
#pragma once

#include <string>

#include "base/values/result.h"
#include "network/nft/nftables.h"

namespace flyball::network {

// Sets `net/<name>` in the namespace that the calling thread is in. False: the kernel does not have it.
bool SetSysctl(const std::string& name, const std::string& value);
std::string ReadSysctl(const std::string& name);

// Lets the node pass packets on. Returns true if it did not before, or if that was so for another cluster
// that runs here: then packets that no cluster has to do with are not to be passed on (PodFilters::closed).
bool EnableForwarding(Nftables& nft);
// The reverse, once no cluster is left here that has closed the way.
void DisableForwarding(Nftables& nft);

}  // namespace flyball::network
