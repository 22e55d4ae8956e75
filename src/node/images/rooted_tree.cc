#include "node/images/rooted_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace flyball::node {
namespace {

// Each level of a removal holds a descriptor.
constexpr std::size_t kMaxDepth = 200;
constexpr mode_t kNewFolderMode = 0755;

Error TreeError(const std::string& what) {
  return InternalError(what + ": " + std::strerror(errno));
}

std::string Joined(const std::vector<std::string>& components, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) path += (i > 0 ? "/" : "") + components[i];
  return path.empty() ? "." : path;
}

Status RemoveContent(int folder, std::size_t depth);

Status RemoveEntry(int folder, const char* name, std::size_t depth) {
  if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return Unexpected(TreeError(name));
  if (depth > kMaxDepth) return Unexpected(BadRequest(std::string(name) + ": folders are nested too deeply"));
  {
    const OwnedFd below(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below) return Unexpected(TreeError(name));
    FLYBALL_TRY(RemoveContent(below.get(), depth + 1));
  }
  if (unlinkat(folder, name, AT_REMOVEDIR) != 0 && errno != ENOENT) return Unexpected(TreeError(name));
  return {};
}

Status RemoveContent(int folder, std::size_t depth) {
  std::vector<std::string> names;
  DIR* const listing = fdopendir(fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!listing) return Unexpected(TreeError("list folder"));
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(listing);
  for (const std::string& name : names) FLYBALL_TRY(RemoveEntry(folder, name.c_str(), depth));
  return {};
}

}  // namespace

Result<std::vector<std::string>> SafeComponents(std::string_view path) {
  std::vector<std::string> components;
  if (path.find('\0') != path.npos) return Unexpected(BadRequest("a path holds a zero byte"));
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return Unexpected(BadRequest("path \"" + std::string(path) + "\" leads out of its folder"));
    components.emplace_back(part);
  }
  if (components.size() > kMaxDepth)
    return Unexpected(
        BadRequest("path \"" + std::string(path.substr(0, 100)) + "...\" is nested too deeply"));
  return components;
}

OwnedFd OpenInRoot(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: something was renamed while the kernel looked; it cannot tell whether that mattered.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const long fd = syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (fd >= 0) return OwnedFd(static_cast<int>(fd));
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return OwnedFd();
}

Status RemoveTree(int folder, const std::string& name) {
  return RemoveEntry(folder, name.c_str(), 0);
}

std::optional<struct stat> Place::Stat() const {
  struct stat info {};
  if (fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return info;
}

Result<RootedTree> RootedTree::Open(const std::string& root) {
  OwnedFd fd(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Unexpected(TreeError(root));
  return RootedTree(std::move(fd));
}

Result<Place> RootedTree::PlaceOf(const std::vector<std::string>& components, const FolderMaker& made) const {
  const std::size_t parents = components.size() - 1;
  OwnedFd folder = OpenInRoot(root_.get(), Joined(components, parents), O_RDONLY | O_DIRECTORY);
  for (std::size_t i = 1; !folder && errno == ENOENT && i <= parents; ++i) {
    const OwnedFd parent = OpenInRoot(root_.get(), Joined(components, i - 1), O_RDONLY | O_DIRECTORY);
    if (!parent) break;
    const std::string& name = components[i - 1];
    if (mkdirat(parent.get(), name.c_str(), kNewFolderMode) == 0) {
      if (made) made(parent.get(), name, Joined(components, i));
    } else if (errno != EEXIST) {
      return Unexpected(TreeError(Joined(components, i)));
    }
    folder = OpenInRoot(root_.get(), Joined(components, parents), O_RDONLY | O_DIRECTORY);
  }
  if (!folder) return Unexpected(BadRequest(Joined(components, parents) + ": " + std::strerror(errno)));
  return Place{std::move(folder), components.back()};
}

}  // namespace flyball::node
