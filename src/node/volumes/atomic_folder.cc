#include "node/volumes/atomic_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr char kDataLink[] = "..data";
constexpr char kNewDataLink[] = "..data_tmp";

Error VolumeError(const std::string& path) {
  return InternalError(path + ": " + std::strerror(errno));
}

// Whoever is in the group may read what the owner may.
mode_t EffectiveMode(const VolumeFile& file, bool group) {
  return (group ? file.mode | ((file.mode & 0400) >> 3) : file.mode) & 0777;
}

bool HoldsAlready(const std::string& folder, const VolumeFiles& files, bool group) {
  const std::string data = folder + "/" + kDataLink;
  std::error_code error;
  if (!fs::exists(data, error)) return false;
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::canonical(data, error), error)) {
    if (!entry.is_regular_file(error)) continue;
    ++count;
    const auto found = files.find(fs::relative(entry.path(), fs::canonical(data, error), error).string());
    if (found == files.end()) return false;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    struct stat info {};
    if (content != found->second.content || stat(entry.path().c_str(), &info) != 0 ||
        (info.st_mode & 0777) != EffectiveMode(found->second, group))
      return false;
  }
  return count == files.size();
}

Status WriteOne(const RootedTree& tree, const std::string& path, const VolumeFile& file,
                std::optional<gid_t> group) {
  FLYBALL_ASSIGN(const auto components, SafeComponents(path));
  if (components.empty()) return Unexpected(BadRequest("a file of the volume has no name"));
  FLYBALL_ASSIGN(const Place place, tree.PlaceOf(components));
  const OwnedFd fd(
      openat(place.folder.get(), place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd ||
      write(fd.get(), file.content.data(), file.content.size()) != static_cast<ssize_t>(file.content.size()))
    return Unexpected(VolumeError(path));
  const uid_t owner = file.owner.value_or(static_cast<uid_t>(-1));
  if ((file.owner || group) && fchown(fd.get(), owner, group.value_or(static_cast<gid_t>(-1))) != 0)
    return Unexpected(VolumeError(path));
  if (fchmod(fd.get(), EffectiveMode(file, group.has_value())) != 0) return Unexpected(VolumeError(path));
  return {};
}

// The visible names: a link for the first part of each path.
Status LinkNames(const std::string& folder, const VolumeFiles& files) {
  std::set<std::string> names;
  for (const auto& [path, file] : files) names.insert(path.substr(0, path.find('/')));
  std::error_code error;
  for (const std::string& name : names)
    if (const std::string link = folder + "/" + name; !fs::is_symlink(link, error))
      fs::create_symlink(std::string(kDataLink) + "/" + name, link, error);
  std::set<std::string> gone;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("..") && !names.contains(name)) gone.insert(name);
  }
  for (const std::string& name : gone) fs::remove(folder + "/" + name, error);
  return {};
}

}  // namespace

Status WriteAtomically(const std::string& folder, const VolumeFiles& files, std::optional<gid_t> group) {
  if (HoldsAlready(folder, files, group.has_value())) return {};
  std::string fresh = folder + "/..XXXXXX";
  if (!mkdtemp(fresh.data()) || chmod(fresh.c_str(), 0755) != 0) return Unexpected(VolumeError(fresh));
  FLYBALL_ASSIGN(const RootedTree tree, RootedTree::Open(fresh));
  for (const auto& [path, file] : files) FLYBALL_TRY(WriteOne(tree, path, file, group));
  std::error_code error;
  const fs::path before = fs::read_symlink(folder + "/" + kDataLink, error);
  fs::remove(folder + "/" + kNewDataLink, error);
  fs::create_symlink(fs::path(fresh).filename(), folder + "/" + kNewDataLink, error);
  if (rename((folder + "/" + kNewDataLink).c_str(), (folder + "/" + kDataLink).c_str()) != 0)
    return Unexpected(VolumeError(folder));
  FLYBALL_TRY(LinkNames(folder, files));
  if (!before.empty()) fs::remove_all(folder / before, error);
  return {};
}

}  // namespace flyball::node
