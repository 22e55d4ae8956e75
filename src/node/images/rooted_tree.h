// RootedTree: makes and removes files below one folder, and never outside it: every path is resolved by the
// kernel as if the folder were the root (openat2 with RESOLVE_IN_ROOT), so no ".." and no symbolic link,
// however it is swapped meanwhile, leads out. Used for what images and users bring.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/owned_fd.h"
#include "base/values/result.h"

namespace flyball::node {

// The name's components: without empty ones and ".". BadRequest if one is ".." or has a zero byte, or if
// there are more than the kernel would follow.
Result<std::vector<std::string>> SafeComponents(std::string_view path);

// Opens `path` below the folder, as openat2 does with RESOLVE_IN_ROOT; -1 and errno if that fails.
OwnedFd OpenInRoot(int root, const std::string& path, int flags);

// Removes what has that name in the folder, with everything below it and without following links.
Status RemoveTree(int folder, const std::string& name);

// A name in a folder that is open.
struct Place {
  OwnedFd folder;
  std::string name;

  std::optional<struct stat> Stat() const;  // of the name itself, links are not followed
};

// Thread-compatible.
class RootedTree {
 public:
  // Mode, owner and time of a folder that nobody described.
  using FolderMaker = std::function<void(int parent, const std::string& name, const std::string& path)>;

  static Result<RootedTree> Open(const std::string& root);

  // Where the last component of the path is, in a folder that is made with its parents where it is missing
  // (0755, then given to `made`). BadRequest if a component is no folder. Requires at least one component.
  Result<Place> PlaceOf(const std::vector<std::string>& components, const FolderMaker& made = {}) const;
  int fd() const { return root_.get(); }

 private:
  explicit RootedTree(OwnedFd root) : root_(std::move(root)) {}
  OwnedFd root_;
};

}  // namespace flyball::node
