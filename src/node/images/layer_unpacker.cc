#include "node/images/layer_unpacker.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

constexpr std::string_view kWhiteoutPrefix = ".wh.";
constexpr std::string_view kOpaqueMarker = ".wh..wh..opq";
constexpr std::string_view kReservedPrefix = ".wh..wh.";
constexpr char kOpaqueAttribute[] = "trusted.overlay.opaque";

using Components = std::vector<std::string>;

std::string Through(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

std::string PathText(const Components& components) {
  std::string path;
  for (const std::string& part : components) path += (path.empty() ? "" : "/") + part;
  return path;
}

bool IsWhiteout(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
}

// Whether the archive may set it: not what overlayfs reads as its own.
bool MaySetAttribute(std::string_view name) {
  return name.starts_with("user.") || name == "security.capability";
}

class LayerWriter {
 public:
  LayerWriter(ArchiveReader& archive, RootedTree tree, const std::vector<std::string>& lower,
              const LayerLimits& limits)
      : archive_(archive), tree_(std::move(tree)), lower_(lower), limits_(limits) {}

  Result<std::string> Run() {
    for (std::int64_t count = 0;; ++count) {
      FLYBALL_ASSIGN(const auto entry, archive_.Next());
      if (!entry) break;
      if (count >= limits_.max_entries)
        return Unexpected(
            BadRequest("the layer has more than " + std::to_string(limits_.max_entries) + " entries"));
      FLYBALL_TRY(Add(*entry));
    }
    FLYBALL_TRY(SetFolderTimes());
    return archive_.UncompressedDigest();
  }

 private:
  struct FolderTime {
    Components path;
    timespec mtime;
  };

  Status Add(const ArchiveEntry& entry) {
    FLYBALL_ASSIGN(const Components path, SafeComponents(entry.path));
    if (path.empty()) return entry.type == ArchiveEntry::Type::kFolder ? SetRoot(entry) : Status();
    FLYBALL_ASSIGN(const Place place,
                   tree_.PlaceOf(path, [this](int parent, const std::string& name, const std::string& at) {
                     CopyFolderFromBelow(parent, name, at);
                   }));
    if (place.name == kOpaqueMarker) return MakeOpaque(place.folder.get());
    if (place.name.starts_with(kReservedPrefix)) return {};
    if (place.name.starts_with(kWhiteoutPrefix))
      return AddWhiteout(place, place.name.substr(kWhiteoutPrefix.size()));
    return AddNode(entry, path, place);
  }

  // Of the layer's own root: what "./" says.
  Status SetRoot(const ArchiveEntry& entry) {
    const OwnedFd root = OpenInRoot(tree_.fd(), ".", O_RDONLY | O_DIRECTORY);
    if (!root || fchown(root.get(), entry.uid, entry.gid) != 0 || fchmod(root.get(), entry.mode) != 0)
      return Fail(entry.path);
    return {};
  }

  static Status Fail(const std::string& path) {
    return Unexpected(InternalError("unpack " + path + ": " + std::strerror(errno)));
  }

  static Status MakeOpaque(int folder) {
    if (fsetxattr(folder, kOpaqueAttribute, "y", 1, 0) != 0) return Fail("opaque folder");
    return {};
  }

  // Hides what the layers below have under that name; what this layer itself has stays.
  Status AddWhiteout(const Place& place, const std::string& hidden) {
    if (hidden.empty() || hidden == "." || hidden == "..")
      return Unexpected(BadRequest("the layer has a whiteout without a name"));
    struct stat info {};
    if (fstatat(place.folder.get(), hidden.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      if (!S_ISDIR(info.st_mode)) return {};
      const OwnedFd folder(
          openat(place.folder.get(), hidden.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      return folder ? MakeOpaque(folder.get()) : Fail(hidden);
    }
    if (mknodat(place.folder.get(), hidden.c_str(), S_IFCHR, makedev(0, 0)) != 0) return Fail(hidden);
    return {};
  }

  Status AddNode(const ArchiveEntry& entry, const Components& path, const Place& place) {
    const auto before = place.Stat();
    const bool folder = entry.type == ArchiveEntry::Type::kFolder;
    const bool stays = before && folder && S_ISDIR(before->st_mode);
    const bool was_hidden = before && IsWhiteout(*before);
    if (before && !stays) FLYBALL_TRY(RemoveTree(place.folder.get(), place.name));
    if (entry.type == ArchiveEntry::Type::kHardLink) return AddHardLink(entry, place);
    if (!stays) FLYBALL_TRY(Create(entry, place));
    FLYBALL_TRY(SetAttributes(entry, place));
    if (!folder) return {};
    folder_times_.push_back({path, {entry.mtime_seconds, entry.mtime_nanos}});
    if (!was_hidden) return {};
    const OwnedFd made(openat(place.folder.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    return made ? MakeOpaque(made.get()) : Fail(entry.path);
  }

  Status Create(const ArchiveEntry& entry, const Place& place) {
    using Type = ArchiveEntry::Type;
    const int at = place.folder.get();
    const char* name = place.name.c_str();
    switch (entry.type) {
      case Type::kFile:
        return WriteFile(entry, place);
      case Type::kFolder:
        return mkdirat(at, name, 0700) == 0 ? Status() : Fail(entry.path);
      case Type::kSymlink:
        return symlinkat(entry.link.c_str(), at, name) == 0 ? Status() : Fail(entry.path);
      case Type::kCharDevice:
        return MakeDevice(entry, place, S_IFCHR);
      case Type::kBlockDevice:
        return MakeDevice(entry, place, S_IFBLK);
      case Type::kFifo:
        return mkfifoat(at, name, 0600) == 0 ? Status() : Fail(entry.path);
      default:
        return Unexpected(BadRequest("entry " + entry.path + " is of a kind that no layer may have"));
    }
  }

  static Status MakeDevice(const ArchiveEntry& entry, const Place& place, mode_t kind) {
    // A whiteout in disguise would hide what the layers below have without saying so.
    if (kind == S_IFCHR && entry.device == makedev(0, 0))
      return Unexpected(BadRequest("entry " + entry.path + " is a device that stands for a whiteout"));
    return mknodat(place.folder.get(), place.name.c_str(), kind | 0600, entry.device) == 0 ? Status()
                                                                                           : Fail(entry.path);
  }

  Status WriteFile(const ArchiveEntry& entry, const Place& place) {
    const OwnedFd file(openat(place.folder.get(), place.name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return Fail(entry.path);
    for (;;) {
      FLYBALL_ASSIGN(std::string_view data, archive_.Read());
      if (data.empty()) return {};
      while (!data.empty()) {
        const ssize_t n = write(file.get(), data.data(), data.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return Fail(entry.path);
        data.remove_prefix(static_cast<std::size_t>(n));
      }
    }
  }

  // The owner first: changing it takes set-user-ID bits and capabilities away.
  static Status SetAttributes(const ArchiveEntry& entry, const Place& place) {
    const int at = place.folder.get();
    const char* name = place.name.c_str();
    if (fchownat(at, name, entry.uid, entry.gid, AT_SYMLINK_NOFOLLOW) != 0) return Fail(entry.path);
    const bool link = entry.type == ArchiveEntry::Type::kSymlink;
    if (!link && fchmodat(at, name, entry.mode, 0) != 0) return Fail(entry.path);
    const std::string path = Through(at) + "/" + place.name;
    for (const auto& [attribute, value] : entry.xattrs) {
      if (!MaySetAttribute(attribute) || link) continue;
      if (lsetxattr(path.c_str(), attribute.c_str(), value.data(), value.size(), 0) != 0 && errno != ENOTSUP)
        return Fail(entry.path);
    }
    const timespec times[2] = {{0, UTIME_OMIT}, {entry.mtime_seconds, entry.mtime_nanos}};
    if (utimensat(at, name, times, AT_SYMLINK_NOFOLLOW) != 0) return Fail(entry.path);
    return {};
  }

  // To a file of this layer, or to a copy of one of a layer below.
  Status AddHardLink(const ArchiveEntry& entry, const Place& place) {
    FLYBALL_ASSIGN(const Components target, SafeComponents(entry.link));
    if (target.empty()) return Unexpected(BadRequest("hard link " + entry.path + " has no target"));
    FLYBALL_ASSIGN(const Place from,
                   tree_.PlaceOf(target, [this](int parent, const std::string& name, const std::string& at) {
                     CopyFolderFromBelow(parent, name, at);
                   }));
    if (!from.Stat()) FLYBALL_TRY(CopyFileFromBelow(target, from));
    const auto info = from.Stat();
    if (!info || S_ISDIR(info->st_mode))
      return Unexpected(BadRequest("hard link " + entry.path + ": there is no file " + entry.link));
    if (linkat(from.folder.get(), from.name.c_str(), place.folder.get(), place.name.c_str(), 0) != 0)
      return Fail(entry.path);
    return {};
  }

  // The name in the highest layer below that has it; nothing if that is a whiteout or there is none.
  std::optional<Place> FindBelow(const Components& path) const {
    for (auto layer = lower_.rbegin(); layer != lower_.rend(); ++layer) {
      const OwnedFd root(open(layer->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      const Components parents(path.begin(), path.end() - 1);
      OwnedFd folder =
          OpenInRoot(root.get(), parents.empty() ? "." : PathText(parents), O_RDONLY | O_DIRECTORY);
      if (!folder) continue;
      Place place{std::move(folder), path.back()};
      if (const auto info = place.Stat())
        return IsWhiteout(*info) ? std::nullopt : std::optional(std::move(place));
    }
    return std::nullopt;
  }

  void CopyFolderFromBelow(int parent, const std::string& name, const std::string& path) const {
    const auto components = SafeComponents(path);
    const auto found = components ? FindBelow(*components) : std::nullopt;
    const auto info = found ? found->Stat() : std::nullopt;
    if (!info || !S_ISDIR(info->st_mode)) return;
    if (fchownat(parent, name.c_str(), info->st_uid, info->st_gid, AT_SYMLINK_NOFOLLOW) != 0) return;
    fchmodat(parent, name.c_str(), info->st_mode & 07777, 0);
  }

  Status CopyFileFromBelow(const Components& path, const Place& to) const {
    const auto found = FindBelow(path);
    const auto info = found ? found->Stat() : std::nullopt;
    if (!info || !S_ISREG(info->st_mode)) return {};
    const OwnedFd from(openat(found->folder.get(), found->name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const OwnedFd file(
        openat(to.folder.get(), to.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!from || !file) return Fail(PathText(path));
    for (;;) {
      const ssize_t n = copy_file_range(from.get(), nullptr, file.get(), nullptr, std::size_t{1} << 30, 0);
      if (n < 0) return Fail(PathText(path));
      if (n == 0) break;
    }
    if (fchown(file.get(), info->st_uid, info->st_gid) != 0 || fchmod(file.get(), info->st_mode & 07777) != 0)
      return Fail(PathText(path));
    return {};
  }

  // Last: everything that is put into a folder changes its time.
  Status SetFolderTimes() {
    for (const FolderTime& folder : folder_times_) {
      const OwnedFd fd = OpenInRoot(tree_.fd(), PathText(folder.path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      if (!fd) continue;  // a later entry has replaced it
      const timespec times[2] = {{0, UTIME_OMIT}, folder.mtime};
      if (futimens(fd.get(), times) != 0) return Fail(PathText(folder.path));
    }
    return {};
  }

  ArchiveReader& archive_;
  const RootedTree tree_;
  const std::vector<std::string>& lower_;
  const LayerLimits limits_;
  std::vector<FolderTime> folder_times_;
};

}  // namespace

Result<std::string> UnpackLayer(ArchiveReader& archive, const std::string& folder,
                                const std::vector<std::string>& lower, const LayerLimits& limits) {
  FLYBALL_ASSIGN(RootedTree tree, RootedTree::Open(folder));
  return LayerWriter(archive, std::move(tree), lower, limits).Run();
}

}  // namespace flyball::node
