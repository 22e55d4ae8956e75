#include "node/csi/volume_ownership.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files/owned_fd.h"

namespace flyball::node {
namespace {

constexpr mode_t kPermissions = 07777;
constexpr mode_t kReadWrite = 0660, kReadOnly = 0440, kSearch = 0110;

mode_t WantedBits(mode_t mode, bool read_only) {
  const mode_t bits = read_only ? kReadOnly : kReadWrite;
  return S_ISDIR(mode) ? bits | kSearch | S_ISGID : bits;
}

bool IsAsItShould(const std::string& root, gid_t group, bool read_only) {
  struct stat info {};
  if (stat(root.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_gid != group) return false;
  const mode_t wanted = WantedBits(info.st_mode, read_only);
  return (info.st_mode & wanted) == wanted;
}

// As upstream, a file that cannot be changed is left as it is.
void GiveOne(const std::string& path, gid_t group, bool read_only) {
  // By a descriptor: a container may swap the file for a link at any time.
  const OwnedFd file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0) return;
  if (fchownat(file.get(), "", static_cast<uid_t>(-1), group, AT_EMPTY_PATH) != 0) return;
  if (S_ISLNK(info.st_mode)) return;
  const std::string by_number = "/proc/self/fd/" + std::to_string(file.get());
  (void)chmod(by_number.c_str(), (info.st_mode & kPermissions) | WantedBits(info.st_mode, read_only));
}

}  // namespace

Status GiveToGroup(const std::string& folder, gid_t group, bool read_only, std::string_view policy) {
  if (policy == "OnRootMismatch" && IsAsItShould(folder, group, read_only)) return {};
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, fs::directory_options::none, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error))
    GiveOne(walk->path().string(), group, read_only);
  if (error) return Unexpected(InternalError(folder + ": " + error.message()));
  // Last: a walk that was cut short begins again.
  GiveOne(folder, group, read_only);
  return {};
}

}  // namespace flyball::node
