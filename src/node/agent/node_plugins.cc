#include "node/agent/node_plugins.h"

#include "base/observe/log.h"
#include "node/plugins/spare_thread.h"

namespace flyball::node {
namespace {

constexpr char kRegistryFolder[] = "/plugins_registry", kDevicesFolder[] = "/device-plugins";
constexpr Duration kCsiNodeRetry = std::chrono::seconds(1);

// Plugins register once the node's CSINode is there.
void StartRegistry(const std::weak_ptr<CsiNodeObject>& weak_node,
                   const std::weak_ptr<PluginRegistry>& weak_registry, Executor& executor,
                   const std::string& node_uid) {
  const auto node = weak_node.lock();
  const auto registry = weak_registry.lock();
  if (!node || !registry) return;
  Status made;
  {
    const SpareThread spare(executor);
    made = node->Ensure(node_uid);
  }
  if (made) made = registry->Start();
  if (made) return;
  log::Warning("plugins cannot register yet, will try again", {{"error", made.error().message()}});
  executor.PostAfter(kCsiNodeRetry, [weak_node, weak_registry, &executor, node_uid] {
    StartRegistry(weak_node, weak_registry, executor, node_uid);
  });
}

}  // namespace

NodePlugins::NodePlugins(const Client& client, const NodePluginsOptions& options, Executor& executor,
                         EventRecorder recorder)
    : executor_(executor),
      csi_node_(std::make_shared<CsiNodeObject>(client, options.node)),
      csi_drivers_(std::make_shared<CsiDrivers>(csi_node_)),
      csi_volumes_(std::make_shared<CsiVolumes>(
          client, csi_drivers_, CsiVolumesOptions{options.node, options.root_dir, options.staging_root},
          executor, std::move(recorder))),
      devices_(std::make_shared<DeviceManager>(options.staging_root + kDevicesFolder, executor)),
      registry_(std::make_shared<PluginRegistry>(options.root_dir + kRegistryFolder, executor)) {
  csi_drivers_->OnRegistered([weak = std::weak_ptr<CsiVolumes>(csi_volumes_), &executor] {
    executor.Post([weak] {
      if (const auto volumes = weak.lock()) volumes->Sweep();
    });
  });
  registry_->Handle(kCsiPluginType, csi_drivers_);
  registry_->Handle(kDevicePluginType, devices_);
}

void NodePlugins::Start(const std::string& node_uid) {
  if (!std::exchange(started_, true))
    if (const Status listening = devices_->Start(); !listening)
      log::Error("no device plugin can register", {{"error", listening.error().message()}});
  executor_.Post([node = std::weak_ptr(csi_node_), registry = std::weak_ptr(registry_), &executor = executor_,
                  node_uid] { StartRegistry(node, registry, executor, node_uid); });
}

void NodePlugins::Stop() {
  registry_->Stop();
  devices_->Stop();
}

}  // namespace flyball::node
