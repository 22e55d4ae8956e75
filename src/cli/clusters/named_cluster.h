// Clusters by name: each has a folder below $XDG_DATA_HOME/flyball/clusters (~/.local/share by default) with
// its data, its settings (cluster.json), a lock that is held while it runs, and the output of its runs in the
// background.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/values/result.h"

namespace flyball::cli {

// What `up` was told, to be used again by the next start.
struct ClusterSettings {
  int port = 0;  // 0: not chosen yet
  int nodes = 1;
  std::string bind_address = "127.0.0.1";
  std::string runtime = "native";
  std::string controllers = "*";
  std::string service_cluster_ip_range = "10.96.0.0/16";
  std::string kubeconfig;  // the file that has its context
};

// A value; its functions are thread-safe unless two programs change one cluster.
class NamedCluster {
 public:
  // BadRequest if that is no name for a cluster: lower-case letters, digits and dashes, at most 40.
  static Result<NamedCluster> Named(const std::string& name);
  // Like Named, but NotFound, with the names there are, if there is no such cluster.
  static Result<NamedCluster> Existing(const std::string& name);
  static std::vector<NamedCluster> All();

  const std::string& name() const { return name_; }
  std::string folder() const;
  std::string kubeconfig() const { return folder() + "/kubeconfig"; }
  std::string log() const { return folder() + "/output.log"; }
  // Its name in the user's kubeconfig.
  std::string context() const { return "flyball-" + name_; }
  bool exists() const;

  // Defaults if there are none.
  ClusterSettings ReadSettings() const;
  Status WriteSettings(const ClusterSettings& settings) const;

  // The process that runs it; 0 if none does.
  pid_t RunningPid() const;
  // Marks it as run by this process until that ends. AlreadyExists if another one runs it.
  Status MarkRunning() const;

  // Runs it in the background (`flyball up NAME`) and waits until it is ready. Returns the process.
  Result<pid_t> StartInBackground() const;
  // Ends its process and waits for the end. True if one ran.
  Result<bool> Stop() const;

 private:
  explicit NamedCluster(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

// A port on the address that is free now: the wanted one if it is, else any.
Result<int> FreePort(const std::string& address, int wanted);

}  // namespace flyball::cli
