// FileWatcher: says when files change, by inotify: it costs nothing while they do not.
//
// Flow: for each file it watches every directory entry that decides what the path means: the file's own, and
// each symbolic link on the way. So it sees files that are written in place, replaced by a rename, and
// swapped by a link (as Kubernetes does with mounted Secrets).
// Caveats: an entry whose directory does not exist (yet) is looked for once a minute. File systems that other
// machines write to (NFS) do not report their changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/run/mutex.h"
#include "base/run/thread.h"
#include "base/values/result.h"

namespace flyball {

// Thread-safe. Its thread starts with the first file.
class FileWatcher {
 public:
  FileWatcher();
  ~FileWatcher();  // as Stop

  // Calls `changed` after any of the files may have changed: it reads them again and decides. Never twice at
  // once; also when nothing changed. Files need not exist. "dir/" is a folder, with the files right in it.
  Status Watch(std::vector<std::string> paths, std::function<void()> changed);
  // No callback runs after this; waits for the one that does. Not to be called from one. Idempotent.
  void Stop();

 private:
  // A name in a directory.
  using Entry = std::pair<std::string, std::string>;
  struct Subscription {
    std::vector<std::string> paths;
    std::function<void()> changed;
    std::set<Entry> entries;
  };

  void Run();
  // Reads what has happened, and calls who asked for it.
  void Dispatch();
  // Brings the watched directories in line with where the paths lead now.
  void Follow() FLYBALL_REQUIRES(mu_);
  static void AddEntries(const std::string& path, std::set<Entry>& entries);

  Mutex mu_;
  int inotify_ = -1, wake_ = -1;
  bool stopping_ FLYBALL_GUARDED_BY(mu_) = false;
  bool incomplete_ FLYBALL_GUARDED_BY(mu_) = false;  // some directory could not be watched
  std::vector<std::shared_ptr<Subscription>> subscriptions_ FLYBALL_GUARDED_BY(mu_);
  std::map<int, std::string> directories_ FLYBALL_GUARDED_BY(mu_);  // by inotify's number
  Thread thread_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
