// CniNetwork: gives the pods of a node networks by CNI plugins, as /etc/cni/net.d says.
//
// Before plugins are run for a pod, <data_dir>/cni/<uid>.json says so, and afterwards what came of it: a
// program that was killed is followed by one that knows what to keep and what to take back, with the
// configuration that each network was made with. What plugins could not take back is tried again at the next
// start.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "network/cni/cni_plugin.h"
#include "network/pod_attacher.h"

namespace flyball::network {

inline constexpr char kCniConfigFolder[] = "/etc/cni/net.d";
// Where the project puts its plugins, and where Debian does.
inline constexpr char kCniPluginFolders[] = "/opt/cni/bin,/usr/lib/cni";

struct CniNetworkOptions {
  NodeNetwork node;
  ClusterNetwork cluster;
  std::string data_dir;
  std::string config_folder = kCniConfigFolder;
  std::vector<std::string> plugin_folders;
};

// Thread-safe. Plugins of different pods run at the same time.
class CniNetwork final : public PodAttacher {
 public:
  // Takes over what an earlier program has left for this node. Needs root.
  static Result<std::unique_ptr<CniNetwork>> Open(CniNetworkOptions options);
  // Leaves everything as it is.
  ~CniNetwork() override = default;

  const NodeNetwork& node() const override { return options_.node; }
  const ClusterNetwork& cluster() const override { return options_.cluster; }
  // Until there is a configuration.
  std::string WhyNotReady() const override;
  // Plugins know their ranges by themselves.
  Status UseCidrs(const std::vector<std::string>&) override { return {}; }
  bool has_cidrs() const override { return true; }
  Result<PodAttachment> Attach(const Pod& pod) override;
  void Detach(const std::string& pod_uid) override;
  void KeepOnly(const std::set<std::string>& pod_uids) override;

 private:
  struct Record {
    CniConfig config;
    CniTarget target;
    json::Value result;    // null: the plugins have not ended
    bool claimed = false;  // this program knows the pod
  };

  explicit CniNetwork(CniNetworkOptions options);
  std::string PathOf(const std::string& uid) const;
  void Recover();
  std::optional<Record> Claim(const std::string& uid);
  Result<PodAttachment> Make(const std::string& uid, Record& record);
  Status Write(const std::string& uid, const Record& record) const;
  std::optional<Record> Read(const std::string& path) const;
  void Drop(const std::string& uid, const Record& record);

  const CniNetworkOptions options_;
  const CniPlugins plugins_;
  const std::string folder_;
  mutable Mutex mu_;
  std::map<std::string, Record> pods_ FLYBALL_GUARDED_BY(mu_);  // by UID
};

}  // namespace flyball::network
