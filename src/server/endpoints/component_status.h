// ComponentStatuses: how the parts of the control plane are, asked at the time (upstream: registry/core/
// componentstatus). Nothing of it is stored.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

// The parts that run in this process say themselves how they are, and what they do. Thread-safe.
class LocalComponents {
 public:
  using Check = std::function<Status()>;
  // "scheduler", "controller-manager". The check is called from any thread, without blocking it, until
  // Remove.
  void Add(std::string name, Check check);
  // No call of the check is under way when this returns.
  void Remove(const std::string& name);
  // What the parts have to show at /debug/components/NAME, from any thread, until RemovePage.
  using Page = std::function<std::string()>;
  void AddPage(std::string name, Page page);
  // No call of the page is under way when this returns.
  void RemovePage(const std::string& name);
  // nullopt: there is no such page.
  std::optional<std::string> Show(const std::string& name) const;
  // How the part is; nullopt: it does not run here.
  std::optional<Status> Ask(const std::string& name) const;

 private:
  mutable Mutex mu_;
  std::map<std::string, Check> checks_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, Page> pages_ FLYBALL_GUARDED_BY(mu_);
};

// Parts that are not of this process are asked at the ports where kube-scheduler and
// kube-controller-manager answer on this machine.
void AddComponentStatusEndpoint(EndpointTable& table, std::shared_ptr<const LocalComponents> local);

}  // namespace flyball::server
