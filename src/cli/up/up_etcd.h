// `flyball up` on an etcd, together with others: each runs an API server, controllers and a scheduler of
// which one copy leads, and a node of its machine.
#pragma once

#include <string>

#include "base/values/result.h"
#include "cli/programs/server_process.h"

namespace CLI {
class App;
}

namespace flyball::cli {

struct UpEtcdFlags {
  std::string servers;  // none: the data folder's database
  std::string ca_file, cert_file, key_file, prefix = "/registry";
  std::string join;  // the join key of a cluster; empty: this is its first server, or one that has joined

  bool given() const { return !servers.empty(); }
};
void AddUpEtcdFlags(CLI::App& command, UpEtcdFlags& flags);

// Makes the options those of a server of the cluster that is in the etcd: with its keys, from etcd, if this
// one joins. `serving` is set already. Blocks: it asks etcd. BadRequest if the cluster there is another one.
Status PrepareUpOnEtcd(const UpEtcdFlags& flags, ServerProcessOptions& options);

// Where the servers of other machines reach this machine's nodes.
std::string NodeAddressOnEtcd(const server::ServingOptions& serving);

// For the machine's user: how another server joins.
Result<std::string> JoinHint(const UpEtcdFlags& flags, const std::string& data_dir);

}  // namespace flyball::cli
