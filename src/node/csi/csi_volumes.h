// CsiVolumes: the CSI volumes of the pods of a node: waited for until they are attached, staged, published,
// and undone in the reverse order (upstream: csi_mounter.go, csi_attacher.go and kubelet's volume manager).
//
// What is done is known by files (csi_records.h), so a crash at any moment leaves nothing behind: an
// operation that was under way is repeated, which drivers must bear, and what no pod uses is undone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/types/storage.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "client/client.h"
#include "controller/events/event_recorder.h"
#include "node/csi/csi_drivers.h"
#include "node/csi/csi_records.h"
#include "node/csi/csi_volume.h"

namespace flyball::node {

// The cause of an error of SetUp: the volume is not attached yet, and nothing is wrong with that.
inline constexpr char kNotAttachedCause[] = "NotAttachedYet";

// Who holds a volume because it is staged.
inline constexpr char kStagedHolder[] = "staged";

struct CsiVolumesOptions {
  std::string node, root_dir;
  std::string staging_root;  // csi_records.h
};

// Thread-safe. Owned by shared_ptr. Methods block, with another thread of the executor in place of theirs.
class CsiVolumes : public std::enable_shared_from_this<CsiVolumes> {
 public:
  // The executor must outlive it.
  CsiVolumes(Client client, std::shared_ptr<CsiDrivers> drivers, CsiVolumesOptions options,
             Executor& executor, EventRecorder recorder);

  // Mounts the volume for the pod; nothing happens if it is, but what its driver wants repeated, and growing.
  // An error in kubelet's words, whole.
  Status SetUp(const Pod& pod, const CsiVolume& volume);
  // Where SetUp mounts it.
  std::string PathOf(const std::string& pod_uid, const CsiVolume& volume) const {
    return records_.TargetPath(pod_uid, volume.name);
  }
  // Undoes all volumes of the pod. What other pods do not use is unstaged, later if that fails now.
  Status TearDown(const std::string& pod_uid);
  // As TearDown, tried again until it works.
  void Release(const std::string& pod_uid);
  // These are all pods of the node: what others had is released.
  void KeepOnly(const std::set<std::string>& pod_uids);
  bool HasVolumes(const std::string& pod_uid) const { return !records_.Published(pod_uid).empty(); }

  // The unique names of volumes that must stay attached, sorted: for the Node's status.
  std::vector<std::string> InUse() const;
  // Calls fn, from any thread, when InUse may have changed. Set before the first SetUp.
  void OnInUseChanged(std::function<void()> fn) { in_use_changed_ = std::move(fn); }
  // Tries again what is to be undone: a driver has come.
  void Sweep();

 private:
  // Everything that one SetUp knows.
  struct Mounting {
    const Pod& pod;
    const CsiVolume& volume;
    std::optional<CSIDriver> kind{};
    std::shared_ptr<CsiDriver> driver{};
    CsiAbilities abilities{};
    bool attachable = false;
    std::string staging_path{}, target_path{};  // no staging path: it is not staged
    CsiMap publish_context{};
  };

  std::shared_ptr<Mutex> MutexOf(const CsiRecord& record);
  CsiRecord RecordOf(const Mounting& mounting) const;
  bool IsPublished(const Mounting& mounting) const;
  // csi_publish.cc
  Status WaitUntilAttached(Mounting& mounting);
  Status Stage(const Mounting& mounting);
  Status Publish(const Mounting& mounting, bool again);
  Status CheckUse(const Mounting& mounting) const;
  Status GiveAway(const Mounting& mounting) const;
  Result<CsiMap> TokensFor(const Mounting& mounting) const;
  Result<CsiMap> SecretData(const std::optional<SecretReference>& ref, const std::string& what) const;
  CsiMountCapability CapabilityOf(const Mounting& mounting) const;
  // csi_expansion.cc
  Status Expand(const Mounting& mounting);
  Status ExpandTo(const Mounting& mounting, const PersistentVolumeClaim& claim, const api::Quantity& size);

  Status Unpublish(const CsiRecord& record);
  Status UnstageUnused(const CsiRecord& record);
  void SweepAgainLater() FLYBALL_REQUIRES(mu_);
  // Who holds a volume that was attached: a pod, or kStagedHolder.
  void Hold(const CsiRecord& record, const std::string& holder);
  void LetGo(const std::string& holder, const std::string& unique_name = {});

  const Client client_;
  const std::shared_ptr<CsiDrivers> drivers_;
  const CsiRecords records_;
  Executor& executor_;
  EventRecorder recorder_;
  std::function<void()> in_use_changed_;
  mutable Mutex mu_;
  std::map<std::string, std::weak_ptr<Mutex>> busy_ FLYBALL_GUARDED_BY(mu_);      // by volume
  std::map<std::string, std::set<std::string>> holders_ FLYBALL_GUARDED_BY(mu_);  // by unique name
  std::set<std::string> published_ FLYBALL_GUARDED_BY(mu_);                       // paths, by this agent
  std::set<std::string> staged_ FLYBALL_GUARDED_BY(mu_);                          // the same
  std::set<std::string> released_ FLYBALL_GUARDED_BY(mu_);                        // UIDs of pods
  int failed_sweeps_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool sweeping_later_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball::node
