// Clusters by name: each has a folder below $XDG_DATA_HOME/flyball/clusters (~/.local/share by default) with
// its data, its settings (cluster.json), a lock that is held while it runs, and the output of its runs in the
// background.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/values/result.h"

namespace flyball::cli {

// What a cluster in the background says when it serves, and when all of its nodes are ready.
inline constexpr const char* kReadyText = "Flyball is up.";
inline constexpr const char* kNodesReadyText = "All nodes are ready.";

// Flags of `up` by their names ("--nodes"), each with its values.
using GivenFlags = std::map<std::string, std::vector<std::string>>;

// What `up` was told, to be used again by the next start.
struct ClusterSettings {
  int port = 0;            // 0: not chosen yet
  std::string kubeconfig;  // the file that has its context
  GivenFlags flags{};

  // The last value of a flag, or the fallback if it was never given.
  std::string Flag(const std::string& name, const std::string& fallback) const;
  // All flags as words of a command line.
  std::vector<std::string> Words() const;
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

  // Runs it in the background (`flyball up NAME`) and waits until it serves, and half a minute at most for
  // its nodes to be ready. Returns the process.
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
