// The flags of an API server, by kube-apiserver's names: what `flyball apiserver` takes, and of what
// `kube-apiserver` (cli/envtest) takes those that have an effect here.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/values/result.h"
#include "cli/programs/identity_flags.h"
#include "cli/programs/server_process.h"

namespace CLI {
class App;
}

namespace flyball::cli {

// Flags as they were given. Lives as long as the command.
struct ApiserverFlags {
  // Adds the flags to the command.
  void Define(CLI::App& command);
  // After parsing: fills `process` and sets the feature gates of the process. BadRequest naming the flag.
  Status Read();

  ServerProcessOptions process;
  IdentityFlags identity;
  std::string enable_admission, disable_admission, api_audiences;
  std::string event_ttl = "1h0m0s", request_timeout = "1m0s", shutdown_delay = "0s";
  std::string snapshot_interval = "0s";
  std::string etcd_servers, etcd_servers_overrides;
  std::string etcd_compaction_interval = "5m0s", etcd_healthcheck_timeout = "2s";
  std::string etcd_db_metric_poll_interval = "30s";
  std::int64_t lease_reuse_seconds = 60;
  std::string feature_gates, emulated_version;
  std::function<Status()> read_audit_flags;

 private:
  void DefineServing(CLI::App& command);
  void DefineApi(CLI::App& command);
  void DefineStore(CLI::App& command);
  void DefineEtcd(CLI::App& command);
  Status ReadEtcd();
  Status ReadShutdown();
};

// What /flagz shows: each flag of the command and its value.
std::map<std::string, std::string> FlagValues(const CLI::App& command);

}  // namespace flyball::cli
