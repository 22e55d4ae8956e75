// PolicyEnforcer: keeps a node's packet filter at what NetworkPolicies say about the pods on it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "controller/manager.h"
#include "network/netlink/network_namespace.h"
#include "network/nft/nftables.h"
#include "network/policy/policy_table.h"

namespace flyball::network {

struct PolicyEnforcerOptions {
  std::string node_name;
  NetworkNamespace::Ptr ns{};  // where the node's packet filter is; null: where Add is called
  std::string table = "flyball-policy";
  Duration min_sync_period = std::chrono::milliseconds(50);
};

// Thread-safe.
class PolicyEnforcer : public std::enable_shared_from_this<PolicyEnforcer> {
 public:
  // Adds the loop to a manager, which runs it as long as somebody has the enforcer. Several nodes can share a
  // manager. Fails if nftables cannot be used.
  static Result<std::shared_ptr<PolicyEnforcer>> Add(Manager& manager, PolicyEnforcerOptions options);
  ~PolicyEnforcer();

  // The pod has these addresses now and nothing of it runs yet. Returns when the policies that select it are
  // in effect, or after kAttachPatience: a node must start pods when the API server is away. False then.
  // Blocks; not on the manager's executor.
  static constexpr Duration kAttachPatience = std::chrono::seconds(5);
  bool Attach(const Pod& pod, const std::vector<std::string>& ips);

  // Deletes what it has made. After the manager has stopped.
  void RemoveTable();

 private:
  PolicyEnforcer(Manager& manager, PolicyEnforcerOptions options);
  Status Open();
  void Watch();
  void Forget(const ObjectMeta& metadata);
  void Schedule();
  Result<Action> Sync();
  void Update();
  void UpdatePod(const std::string& key);
  Status Apply();

  // What has changed, by kind: keys, or names of namespaces.
  struct Dirty {
    std::set<std::string> pods, namespaces, policies;
    bool empty() const { return pods.empty() && namespaces.empty() && policies.empty(); }
  };
  void Mark(std::set<std::string> Dirty::*which, const std::string& key);

  Manager& manager_;
  const Clock& clock_;
  const PolicyEnforcerOptions options_;
  const Lister<Pod> pods_;
  const Lister<Namespace> namespaces_;
  const Lister<NetworkPolicy> policies_;
  std::shared_ptr<Controller> controller_;

  // Confined to the controller's only worker.
  PolicyTable table_;
  std::unique_ptr<Nftables> nft_;
  bool complete_ = false;
  SteadyTime stale_since_{};

  Mutex mu_;
  CondVar applied_;
  Dirty dirty_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, Pod> attached_ FLYBALL_GUARDED_BY(mu_);  // addresses that are in no status yet
  std::uint64_t marks_ FLYBALL_GUARDED_BY(mu_) = 0, applied_marks_ FLYBALL_GUARDED_BY(mu_) = 0;
  SteadyTime last_sync_ FLYBALL_GUARDED_BY(mu_){};
};

}  // namespace flyball::network
