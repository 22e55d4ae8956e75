// NodePlugins: the plugins of one node, put together: who registers them, and what they do for its pods.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/run/executor.h"
#include "client/client.h"
#include "controller/events/event_recorder.h"
#include "node/csi/csi_volumes.h"
#include "node/devices/device_manager.h"
#include "node/plugins/plugin_registry.h"

namespace flyball::node {

struct NodePluginsOptions {
  std::string node;
  std::string root_dir;      // kubelet's --root-dir; below it are plugins_registry, plugins and pods
  std::string staging_root;  // csi_records.h
};

// Thread-safe, but for Start.
class NodePlugins {
 public:
  // Plugins are talked to on the executor, which must outlive this.
  NodePlugins(const Client& client, const NodePluginsOptions& options, Executor& executor,
              EventRecorder recorder);
  ~NodePlugins() { Stop(); }

  const std::shared_ptr<CsiVolumes>& csi_volumes() const { return csi_volumes_; }
  const std::shared_ptr<DeviceManager>& devices() const { return devices_; }
  // The Node with this UID has been registered: its CSINode is made, and plugins may register from now on.
  void Start(const std::string& node_uid);
  // No plugin registers any more. Idempotent.
  void Stop();

 private:
  Executor& executor_;
  bool started_ = false;
  const std::shared_ptr<CsiNodeObject> csi_node_;
  const std::shared_ptr<CsiDrivers> csi_drivers_;
  const std::shared_ptr<CsiVolumes> csi_volumes_;
  const std::shared_ptr<DeviceManager> devices_;
  const std::shared_ptr<PluginRegistry> registry_;
};

}  // namespace flyball::node
