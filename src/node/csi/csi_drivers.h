// CsiDrivers: the CSI drivers that are registered on a node (upstream: csi_plugin.go's RegistrationHandler).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "node/csi/csi_driver.h"
#include "node/csi/csi_node.h"
#include "node/plugins/plugin_registry.h"

namespace flyball::node {

// Thread-safe. Validate, Register and Deregister block.
class CsiDrivers final : public PluginHandler {
 public:
  explicit CsiDrivers(std::shared_ptr<CsiNodeObject> node) : node_(std::move(node)) {}

  Status Validate(const PluginInfo& plugin) override;
  Status Register(const PluginInfo& plugin) override;
  void Deregister(const PluginInfo& plugin) override;

  // NotFound in kubelet's words if it is not registered.
  Result<std::shared_ptr<CsiDriver>> Find(const std::string& name) const;
  // Calls fn after each registration. Set before the first.
  void OnRegistered(std::function<void()> fn) { registered_ = std::move(fn); }

 private:
  struct Registered {
    std::vector<int> version;
    std::shared_ptr<CsiDriver> driver;
  };
  Result<std::vector<int>> CheckVersions(const PluginInfo& plugin, const std::string& caller) const;

  const std::shared_ptr<CsiNodeObject> node_;
  std::function<void()> registered_;
  mutable Mutex mu_;
  std::map<std::string, Registered> drivers_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::node
