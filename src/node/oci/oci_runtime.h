// OciRuntime: containers of OCI images, through runc, each pod with a monitor process that outlives the
// agent. Needs root. Pods share the machine's network.
//
// Below the data folder: `images/` (image_store.h), `oci/runc` (runc's state), `oci/pods/<uid>/`
// (monitor.sock, the files about names, `node`, and a bundle `<container>-<attempt>` for each start,
// container_bundle.h), and logs where the native runtime has them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/values/quantity.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "node/images/image_collector.h"
#include "node/runtime/log_files.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Whether pods may have the image `host`: a process of this user on the machine's own files.
enum class HostImage {
  kAuto,  // only where no containers run: those run as root, and so would it
  kOn,
  kOff,
};

struct OciRuntimeOptions {
  std::string data_dir;
  std::string pod_ip = "127.0.0.1";
  LogLimits log_limits{};
  ImageGcPolicy image_gc{};
  std::string registries_file{};  // registry_hosts.h; empty: the usual one
  HostImage host_image = HostImage::kAuto;
  // Above the cgroup `kubepods`, as kubelet's --cgroup-root: clusters of one machine have one each.
  std::string cgroup_root{};
  std::int64_t pod_max_pids = -1;  // processes of one pod; -1: as many as the machine takes
  // What all pods together may use, enforced by their cgroup; empty: nothing is.
  std::map<std::string, api::Quantity> enforced{};
  // Containers go on when the agent is stopped in good order, as they do when it is killed.
  bool keep_on_shutdown = false;
};

// Also says which containers it knows.
class OciContainers : public ContainerRuntime {
 public:
  virtual bool Knows(const std::string& id) const = 0;
  virtual bool KnowsPod(const std::string& pod_uid) const = 0;
};

// Why containers cannot run here, for people; nothing if they can.
std::optional<std::string> WhyNoContainers();

// Finds what an earlier agent has left running. An error if the folder cannot be used. The executor must
// outlive it.
Result<std::unique_ptr<OciContainers>> OpenOciRuntime(const OciRuntimeOptions& options, Executor& executor,
                                                      Random& random);

}  // namespace flyball::node
