// DeviceManager: the device plugins of a node, and who has which device (upstream: kubelet's devicemanager).
//
// Flow: a plugin registers, at the socket kubelet.sock in the folder or through the plugin registry; the node
// asks it for its devices and hears of every change. Containers get healthy devices when their pod is taken,
// and keep them until it has ended; a file (device_checkpoint.h) keeps that across restarts of the agent. A
// plugin that has gone leaves its devices unhealthy, and after five minutes none.
// Not there: NUMA alignment, and devices by CDI, which are refused.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "net/grpc/grpc_server.h"
#include "node/devices/device_checkpoint.h"
#include "node/devices/device_plugin.h"
#include "node/plugins/plugin_registry.h"

namespace flyball::node {

// What a Node has of a resource of plugins.
struct DeviceCapacity {
  std::int64_t capacity = 0, allocatable = 0;
};

// Thread-safe. Owned by shared_ptr.
class DeviceManager final : public PluginHandler, public std::enable_shared_from_this<DeviceManager> {
 public:
  // Plugins are talked to on the executor, which must outlive the manager.
  DeviceManager(std::string folder, Executor& executor) : folder_(std::move(folder)), executor_(executor) {}

  // Takes over what an agent before this one has written, removes its plugins' sockets, which is how they
  // notice that they have to register again, and listens.
  Status Start();
  void Stop();

  // Plugins that register through the registry.
  Status Validate(const PluginInfo& plugin) override;
  Status Register(const PluginInfo& plugin) override;
  void Deregister(const PluginInfo& plugin) override;

  // By resource; nullopt: it was there and is no longer.
  std::map<std::string, std::optional<DeviceCapacity>> Capacity() const;
  // Calls fn, from any thread, when Capacity may have changed. Set before Start.
  void OnChanged(std::function<void()> fn) { changed_ = std::move(fn); }

  // Whether a container of the pod asks for devices.
  bool Concerns(const Pod& pod) const;
  // Gives the pod's containers their devices, but for those that have them. Blocks. An error in kubelet's
  // words if they cannot be had.
  Status Allocate(const Pod& pod);
  // What the container gets with its devices; its plugins are told that it starts. Blocks.
  Result<DeviceAllocation> Prepare(const Pod& pod, const Container& container);
  // The pod has ended.
  void Release(const std::string& pod_uid);
  void KeepOnly(const std::set<std::string>& pod_uids);

 private:
  struct Resource {
    std::shared_ptr<DevicePlugin> plugin;  // null: it has gone
    std::string socket;
    DevicePluginOptions options;
    std::map<std::string, bool> devices;  // healthy, by id
  };
  using Reusable = std::map<std::string, std::set<std::string>>;  // by resource

  Result<std::string> OnRegister(std::string_view request);
  Status Connect(const std::string& resource, const std::string& socket);
  void Listed(const std::string& resource, const DevicePlugin* plugin, std::map<std::string, bool> devices);
  void Ended(const std::string& resource, const DevicePlugin* plugin);
  void Forget(const std::string& resource);
  void Changed();

  bool IsDevice(const std::string& resource) const FLYBALL_REQUIRES(mu_);
  Status AllocateContainer(const Pod& pod, const Container& container, const Reusable& reusable);
  Status AllocateResource(const Pod& pod, const Container& container, const std::string& resource,
                          std::size_t wanted, const std::set<std::string>& reusable);
  Result<std::vector<std::string>> Choose(const std::string& pod_uid, const std::string& container,
                                          const std::string& resource, std::size_t wanted,
                                          const std::set<std::string>& reusable);
  std::set<std::string> DevicesOf(const std::string& pod_uid, const std::string& container,
                                  const std::string& resource) const FLYBALL_REQUIRES(mu_);
  Status Save() FLYBALL_REQUIRES(mu_);

  const std::string folder_;
  Executor& executor_;
  std::function<void()> changed_;
  std::unique_ptr<net::GrpcServer> server_;
  Mutex allocating_;  // one pod at a time
  mutable Mutex mu_;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  std::map<std::string, Resource> resources_ FLYBALL_GUARDED_BY(mu_);
  std::set<std::string> forgotten_ FLYBALL_GUARDED_BY(mu_);  // resources
  std::vector<HeldDevices> held_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::node
