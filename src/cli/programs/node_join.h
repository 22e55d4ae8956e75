// How nodes join a cluster that `flyball up` or `flyball apiserver` runs: the roles they need (upstream:
// kubeadm's), and a bootstrap token for those of this process.
#pragma once

#include <string>
#include <vector>

#include "base/run/clock.h"
#include "json/value.h"

namespace flyball::cli {

// Lets the API server's own client call nodes: it reaches every part of their servers and nothing else.
std::vector<json::Value> NodeClientRoles();
// Lets holders of a node token ask for a node's certificate, approves those, and lets nodes renew their own.
std::vector<json::Value> NodeJoinRoles();

// "<id>.<secret>", of random characters.
std::string NewBootstrapToken();
// The Secret that makes it one: for joining nodes, until `expires`.
json::Value BootstrapTokenSecret(const std::string& token, TimePoint expires);

}  // namespace flyball::cli
