// CsiRecords: where volumes of CSI drivers are on the disk, and the files that say what is published and
// staged. The places are kubelet's, because drivers are told of them and look at them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/values/result.h"

namespace flyball::node {

// One vol_data.json.
struct CsiRecord {
  std::string volume;  // the persistent volume's name, or the one in the pod
  std::string driver, handle;
  std::string node;  // whose it is, where nodes share a machine
  bool ephemeral = false;
  bool attachable = false;  // it was attached to this node before
  std::string pod_uid{};    // not in the file: where it is published; empty: it is staged
};

// Thread-safe, as far as callers do not write the same record at once.
class CsiRecords {
 public:
  // Volumes are staged below `staging_root`, which nodes of one machine must not share.
  CsiRecords(std::string root, std::string staging_root, std::string node)
      : root_(std::move(root)), staging_root_(std::move(staging_root)), node_(std::move(node)) {}

  const std::string& node() const { return node_; }
  // <root>/pods/<uid>/volumes/kubernetes.io~csi/<volume>/mount. Nothing is made.
  std::string TargetPath(const std::string& pod_uid, const std::string& volume) const;
  // <staging root>/plugins/kubernetes.io/csi/<driver>/<hash of the handle>/globalmount
  std::string StagingPath(const std::string& driver, const std::string& handle) const;

  // Writes the record beside the path, whose parents are made.
  Status Write(const std::string& path, const CsiRecord& record) const;
  // Makes the folder `path` itself: drivers expect that of a staging path.
  Status MakeFolder(const std::string& path) const;
  // Removes the path, which must be empty, its record and the folder of both. InternalError if something is
  // still mounted there.
  Status Remove(const std::string& path) const;
  // Those of a pod on this node; of all pods if the UID is empty.
  std::vector<CsiRecord> Published(const std::string& pod_uid = {}) const;
  std::vector<CsiRecord> Staged() const;
  // Removes what is left of a pod that has no records.
  void RemovePod(const std::string& pod_uid) const;

 private:
  const std::string root_, staging_root_, node_;
};

// Whether something is mounted at the path.
bool IsMountPoint(const std::string& path);

}  // namespace flyball::node
