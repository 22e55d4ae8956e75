// One reconcile of one DaemonSet: runs a pod on every node that fits, and updates a few nodes at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "controller/objects/revision_history.h"
#include "controller/worker/controller.h"
#include "controllers/daemonset/daemon_pods.h"

namespace flyball::controllers {

// When a pod that failed on a node may be replaced: one second after the first failure, doubled with each
// further failure, at most fifteen minutes. Thread-safe.
class FailedPodBackoff {
 public:
  // Returns zero if it may be replaced now, which counts as one more failure; otherwise how long to wait.
  Duration Turn(const std::string& key, TimePoint now);

 private:
  struct Entry {
    TimePoint at;
    Duration wait;
  };
  Mutex mu_;
  std::map<std::string, Entry> entries_ FLYBALL_GUARDED_BY(mu_);
};

// Confined to one reconcile.
class DaemonSetSync {
 public:
  DaemonSetSync(const DaemonSet& set, FailedPodBackoff& backoff, Context& ctx)
      : set_(set), backoff_(backoff), ctx_(ctx) {}

  Result<Action> Run();

 private:
  Status ClaimPods();
  Status FindRevision();
  // What every node needs, regardless of the update strategy.
  void PlanNodes();
  void PlanNode(const Node& node, std::vector<PodPtr> pods);
  std::vector<PodPtr> DropEnded(const Node& node, const std::vector<PodPtr>& pods);
  void DropSurplus(std::vector<PodPtr> running);
  void DropReplaced(const std::vector<PodPtr>& running);
  // A rolling update.
  void PlanUpdate();
  void PlanReplacements(int max_unavailable);
  void PlanSurge(int max_surge);
  Status Execute();

  // The pod of the current template and the pod of an older one on a node, if there is at most one of each.
  struct OldAndNew {
    PodPtr old_pod, new_pod;
    bool clear = true;  // false: there are more
  };
  OldAndNew FindOldAndNew(const std::vector<PodPtr>& pods) const;
  bool IsAvailable(const Pod& pod) const;
  int MaxSurge() const;
  int DesiredNodes() const;
  void CountNodes();
  Result<Action> WriteStatusAndWait();
  Status DeleteHistory();

  DaemonSet set_;  // with the status as this reconcile builds it
  FailedPodBackoff& backoff_;
  Context& ctx_;
  std::vector<std::shared_ptr<const Node>> nodes_;
  std::map<std::string, std::vector<PodPtr>> pods_;  // by the node they are on or meant for
  std::vector<RevisionPtr> revisions_;
  std::string hash_;
  std::vector<std::string> create_on_;
  std::vector<PodPtr> remove_;
  Duration look_again_ = Duration::max();
};

}  // namespace flyball::controllers
