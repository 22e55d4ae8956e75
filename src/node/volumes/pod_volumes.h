// PodVolumes: the volumes of the pods of a node (upstream: kubelet's volume manager, for the sources it
// knows).
//
// Below its folder, `<uid>/<volume>` is a volume's content where the node makes it, `<uid>/.node` says whose
// pod it is, and `<uid>.subpaths/` holds what containers have mounted of a volume by subPath.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/mutex.h"
#include "client/client.h"
#include "node/csi/csi_volumes.h"
#include "node/runtime/runtime.h"
#include "node/volumes/pod_certificates.h"
#include "node/volumes/pod_fields.h"

namespace flyball::node {

// What volumes say about the node.
struct VolumeNode {
  std::string name;
  std::vector<std::string> addresses;
  NodeAllocatable allocatable{};
};

// Thread-safe. Methods block; those of one pod wait for each other.
class PodVolumes {
 public:
  // Nodes of one machine may share the folder. `csi`: who mounts the volumes of CSI drivers; null: nobody.
  PodVolumes(Client client, std::string folder, VolumeNode node, std::shared_ptr<CsiVolumes> csi = nullptr);

  // Makes every volume of the pod, or brings it up to date. `pod_ips` are for the downward API. An error in
  // kubelet's words names the volume that cannot be had (yet).
  Status SetUp(const Pod& pod, const std::vector<std::string>& pod_ips);
  // Whether something in the pod's volumes may change while it runs.
  bool MayChange(const Pod& pod) const;
  // What a container sees of them. `expand` replaces $(NAME) in subPathExpr. BadRequest if a path cannot be
  // had, or leads out of its volume.
  Result<std::vector<ContainerMount>> MountsOf(const Pod& pod, const Container& container,
                                               const std::function<std::string(const std::string&)>& expand);
  // Where a volume of the pod is, if the node makes it.
  std::string PathOf(const Pod& pod, const Volume& volume) const {
    return folder_ + "/" + pod.metadata.uid + "/" + volume.name;
  }
  // What its emptyDirs on the disk take up, by volume.
  std::map<std::string, std::uint64_t> EmptyDirBytes(const Pod& pod) const;
  // An error, in kubelet's words, if a driver could not undo a volume of it (yet); the rest is gone then.
  Status TearDown(const std::string& pod_uid);
  // The pod uses nothing any more: volumes of CSI drivers go, now or later; its folders stay.
  void Release(const std::string& pod_uid);
  // These are all pods of the node: what others had before this was made is torn down.
  void KeepOnly(const std::set<std::string>& pod_uids);

 private:
  std::shared_ptr<Mutex> MutexOf(const std::string& pod_uid);
  Status SetUpOne(const Pod& pod, const Volume& volume, const std::vector<std::string>& pod_ips);
  Result<std::string> SourceOf(const Pod& pod, const Volume& volume);
  Result<PersistentVolume> VolumeOfClaim(const Pod& pod, const std::string& claim);
  Result<std::string> SubPath(const Pod& pod, const Container& container, std::size_t index,
                              const std::string& volume, const std::string& path);

  const Client client_;
  const std::string folder_;
  const VolumeNode node_;
  const std::shared_ptr<CsiVolumes> csi_;
  PodCertificates certificates_;
  Mutex mu_;
  // Containers of a pod are started side by side, and each makes sure that the volumes are there.
  std::map<std::string, std::shared_ptr<Mutex>> pods_ FLYBALL_GUARDED_BY(mu_);  // by UID
  const std::vector<std::string> found_;  // UIDs of pods of the node that had volumes when this was made
};

}  // namespace flyball::node
