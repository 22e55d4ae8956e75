// StaticPodFiles: the static pods of a folder, or of one file, and every change of them (kubelet's
// --pod-manifest-path). Files whose names begin with a dot, and folders within, are ignored; what cannot be
// used is logged and left out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/file_watcher.h"

namespace flyball::node {

// Thread-safe.
class StaticPodFiles {
 public:
  using Pods = std::vector<std::shared_ptr<const Pod>>;
  StaticPodFiles(std::string path, std::string node);
  ~StaticPodFiles() { watcher_.Stop(); }

  // Calls `changed` with all pods there are, each time one of the files may have changed; on a thread of its
  // own. InternalError if files cannot be watched.
  Status Watch(std::function<void(Pods)> changed);
  // Those there are now, by the names of their files; of several with one name the last one. Reads the disk.
  Pods Read() const;

 private:
  const std::string path_, node_;
  FileWatcher watcher_;
};

}  // namespace flyball::node
