// How nodes join a cluster that `flyball up` or `flyball apiserver` runs: the roles they need (upstream:
// kubeadm's), and who those of this process are.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "client/client.h"
#include "json/value.h"

namespace flyball::cli {

// Lets the API server's own client call nodes: it reaches every part of their servers and nothing else.
std::vector<json::Value> NodeClientRoles();
// Lets holders of a node token ask for a node's certificate, approves those, and lets nodes renew their own.
std::vector<json::Value> NodeJoinRoles();

// What nodes read whose pods have networks of their own (`flyball node --network on`): where pods, Services
// and other nodes are, and the policies. Only that, and nothing that is secret; no node needs it elsewhere.
std::vector<json::Value> NodeNetworkRoles();
// Makes those of NodeNetworkRoles that are not there. What somebody has changed stays as it is.
Status GrantNodeNetworks(const Client& client);

// The groups of one who may join, as a bootstrap token of the cluster has them.
std::vector<std::string> JoiningGroups();

}  // namespace flyball::cli
