// PodNetwork: gives the pods of one node a network namespace and an address each.
//
// The kernel is the only record: namespaces are bound to /run/netns/<name>_<node>_<pod's UID>, links and the
// filter table have names of the cluster (node_network.h). So what a program that was killed has left is
// found again: pods that live on keep their network and address, everything else is removed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/mutex.h"
#include "network/netlink/netlink.h"
#include "network/nft/nftables.h"
#include "network/node_network.h"
#include "network/pod_attacher.h"
#include "network/pods/address_pool.h"
#include "network/pods/pod_filters.h"

namespace flyball::network {

struct PodNetworkOptions {
  NodeNetwork node;
  ClusterNetwork cluster;
  std::uint32_t mtu = 0;       // of pods' links; 0: that of the link by which the node reaches the world
  std::uint32_t mtu_less = 0;  // less than that, if it is the link's
};

// Thread-safe. All methods block for some milliseconds.
class PodNetwork final : public PodAttacher {
 public:
  // Takes over what an earlier program has left for this node. Needs root.
  static Result<std::unique_ptr<PodNetwork>> Open(PodNetworkOptions options);
  // Leaves everything as it is.
  ~PodNetwork() override = default;

  const NodeNetwork& node() const override { return options_.node; }
  const ClusterNetwork& cluster() const override { return options_.cluster; }
  std::uint32_t mtu() const { return mtu_; }

  // The ranges of Node.spec.podCIDRs: pods get an address of each, of IPv6 only where the kernel has it.
  // BadRequest if none is of IPv4. Nothing if they are known.
  Status UseCidrs(const std::vector<std::string>& cidrs) override;
  bool has_cidrs() const override;
  std::string WhyNotReady() const override { return has_cidrs() ? "" : "the node has no podCIDR yet"; }

  // The pod's namespace, made unless it is there; and its host ports are its own. ServiceUnavailable before
  // UseCidrs. On failure nothing is left of it.
  Result<PodAttachment> Attach(const Pod& pod) override;
  // Called by Attach at the end, when the pod has its addresses and nothing of it runs yet: what filters
  // packets must know of it. May block. Set before the first pod.
  using OnAttached = std::function<void(const Pod& pod, const std::vector<std::string>& ips)>;
  void SetOnAttached(OnAttached fn);
  void Detach(const std::string& pod_uid) override;
  void KeepOnly(const std::set<std::string>& pod_uids) override;
  // Everything of this node, as if it had never been.
  void RemoveAll();

 private:
  struct Attached {
    std::string path, link;
    std::vector<api::IpAddress> ips;
    std::vector<HostPort> ports;
    bool claimed = false;  // this program knows the pod
  };

  Result<PodAttachment> AttachQuietly(const Pod& pod) FLYBALL_REQUIRES(mu_);
  explicit PodNetwork(PodNetworkOptions options) : options_(std::move(options)) {}
  Status Start();
  Status MakeGatewayLink();
  void Recover() FLYBALL_REQUIRES(mu_);
  void RecoverPod(const std::string& uid, const std::string& path) FLYBALL_REQUIRES(mu_);
  std::string PathPrefix() const;
  Status Make(const std::string& uid, Attached& pod) FLYBALL_REQUIRES(mu_);
  Status Connect(const Attached& pod, const NetworkNamespace& ns) FLYBALL_REQUIRES(mu_);
  Status OpenHostPorts(const Pod& spec, Attached& pod) FLYBALL_REQUIRES(mu_);
  void Drop(Attached& pod) FLYBALL_REQUIRES(mu_);
  std::string LinkName(const std::vector<api::IpAddress>& ips) const;

  const PodNetworkOptions options_;
  std::uint32_t mtu_ = 0;
  std::unique_ptr<Netlink> netlink_;
  mutable Mutex mu_;
  std::unique_ptr<Nftables> nft_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::string> cidrs_ FLYBALL_GUARDED_BY(mu_);
  std::vector<AddressPool> pools_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, Attached> pods_ FLYBALL_GUARDED_BY(mu_);  // by UID
  OnAttached on_attached_ FLYBALL_GUARDED_BY(mu_);
};

// Why pods cannot have a network of their own here, for people; nothing if they can.
std::optional<std::string> WhyNoPodNetwork();

// Removes what the cluster of that name has left in this namespace of the kernel and at /run/netns.
void RemoveNetworkOf(const std::string& name);

}  // namespace flyball::network
