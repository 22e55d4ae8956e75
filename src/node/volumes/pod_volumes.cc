#include "node/volumes/pod_volumes.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "node/images/rooted_tree.h"
#include "node/stats/usage.h"
#include "node/volumes/volume_content.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// Everybody in a container may use an emptyDir, whoever that is.
constexpr mode_t kEmptyDirMode = 0777;

constexpr char kNodeMark[] = "/.node";

Error MountError(const std::string& what) {
  return InternalError(what + ": " + std::strerror(errno));
}

std::optional<gid_t> GroupOf(const Pod& pod) {
  const auto& context = pod.spec.security_context;
  if (!context || !context->fs_group) return std::nullopt;
  return static_cast<gid_t>(*context->fs_group);
}

std::vector<std::string> PodsOf(const std::string& folder, const std::string& node) {
  std::vector<std::string> uids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto mark = ReadFile(entry.path().string() + kNodeMark);
    if (mark && *mark == node) uids.push_back(entry.path().filename().string());
  }
  return uids;
}

Status MakeEmptyDir(const std::string& path, const EmptyDirVolumeSource& source, std::optional<gid_t> group) {
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  if (there) return {};
  FLYBALL_TRY(MakePrivateFolder(path));
  if (source.medium == "Memory") {
    std::string options = "mode=1777";
    if (source.size_limit && !source.size_limit->IsZero())
      options += ",size=" + std::to_string(source.size_limit->Value());
    if (mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      return Unexpected(MountError(path));
  } else if (!source.medium.empty()) {
    return Unexpected(BadRequest("emptyDir medium \"" + source.medium + "\" is not supported by this node"));
  }
  if (group && chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) return Unexpected(MountError(path));
  const mode_t mode = kEmptyDirMode | (group ? S_ISGID : 0u);
  if (chmod(path.c_str(), mode) != 0) return Unexpected(MountError(path));
  return {};
}

// Upstream: volume/hostpath's checks, with their words.
Status CheckHostPath(const HostPathVolumeSource& source) {
  const std::string type = source.type.value_or("");
  const std::string& path = source.path;
  struct stat info {};
  bool there = stat(path.c_str(), &info) == 0;
  if (type.empty()) return {};
  if (type == "DirectoryOrCreate" && !there) {
    std::error_code error;
    fs::create_directories(path, error);
    there = stat(path.c_str(), &info) == 0;
  }
  if (type == "FileOrCreate" && !there) {
    std::ofstream(path).flush();
    there = stat(path.c_str(), &info) == 0;
  }
  const auto refuse = [&](const char* what) {
    return Unexpected(BadRequest("hostPath type check failed: " + path + " is not a " + what));
  };
  if (type.starts_with("Directory") && !(there && S_ISDIR(info.st_mode))) return refuse("directory");
  if (type.starts_with("File") && !(there && S_ISREG(info.st_mode))) return refuse("file");
  if (type == "Socket" && !(there && S_ISSOCK(info.st_mode))) return refuse("socket file");
  if (type == "CharDevice" && !(there && S_ISCHR(info.st_mode))) return refuse("character device");
  if (type == "BlockDevice" && !(there && S_ISBLK(info.st_mode))) return refuse("block device");
  return {};
}

Error SubPathRefused(const VolumeMount& wanted, const Container& container, const Error& error) {
  log::Warning("subPath refused",
               {{"volume", wanted.name}, {"container", container.name}, {"error", error.message()}});
  return BadRequest("failed to prepare subPath for volumeMount \"" + wanted.name + "\" of container \"" +
                    container.name + "\"");
}

bool IsRecursive(const VolumeMount& wanted) {
  const std::string how = wanted.recursive_read_only.value_or("");
  return how == "Enabled" || how == "IfPossible";
}

// The claim that the volume is: one of its own, or one that is made for the pod.
std::string ClaimOf(const Pod& pod, const Volume& volume) {
  if (volume.persistent_volume_claim) return volume.persistent_volume_claim->claim_name;
  return volume.ephemeral ? pod.metadata.name + "-" + volume.name : std::string();
}

bool ReadsOnly(const Volume& volume) {
  return volume.persistent_volume_claim && volume.persistent_volume_claim->read_only;
}

const Volume* FindVolume(const Pod& pod, const std::string& name) {
  for (const Volume& volume : pod.spec.volumes)
    if (volume.name == name) return &volume;
  return nullptr;
}

}  // namespace

PodVolumes::PodVolumes(Client client, std::string folder, VolumeNode node, std::shared_ptr<CsiVolumes> csi)
    : client_(std::move(client)),
      folder_(std::move(folder)),
      node_(std::move(node)),
      csi_(std::move(csi)),
      certificates_(client_, node_.name),
      found_(PodsOf(folder_, node_.name)) {}

bool PodVolumes::MayChange(const Pod& pod) const {
  const auto& volumes = pod.spec.volumes;
  if (std::any_of(volumes.begin(), volumes.end(), [](const Volume& v) { return HasContent(v); })) return true;
  const bool may_be_csi = std::any_of(volumes.begin(), volumes.end(), [](const Volume& v) {
    return v.csi || v.persistent_volume_claim || v.ephemeral;
  });
  return may_be_csi && csi_ && csi_->HasVolumes(pod.metadata.uid);
}

std::shared_ptr<Mutex> PodVolumes::MutexOf(const std::string& pod_uid) {
  MutexLock lock(mu_);
  auto& mutex = pods_[pod_uid];
  if (!mutex) mutex = std::make_shared<Mutex>();
  return mutex;
}

Status PodVolumes::SetUp(const Pod& pod, const std::vector<std::string>& pod_ips) {
  if (pod.spec.volumes.empty()) return {};
  const auto mutex = MutexOf(pod.metadata.uid);
  MutexLock lock(*mutex);
  FLYBALL_TRY(MakePrivateFolder(folder_));
  FLYBALL_TRY(MakePrivateFolder(folder_ + "/" + pod.metadata.uid));
  if (const std::string mark = folder_ + "/" + pod.metadata.uid + kNodeMark; access(mark.c_str(), F_OK) != 0)
    FLYBALL_TRY(WriteFileDurably(mark, node_.name));
  for (const Volume& volume : pod.spec.volumes) {
    if (csi_ && volume.csi) {
      FLYBALL_TRY(csi_->SetUp(pod, InlineCsiVolume(pod, volume)));
      continue;
    }
    const auto of_volume = [&](const Status& made) -> Status {
      if (made) return {};
      return Unexpected(
          made.error().Annotate("MountVolume.SetUp failed for volume \"" + volume.name + "\" "));
    };
    const std::string claim = ClaimOf(pod, volume);
    if (claim.empty()) {
      FLYBALL_TRY(of_volume(SetUpOne(pod, volume, pod_ips)));
      continue;
    }
    const auto found = VolumeOfClaim(pod, claim);
    if (!found) return of_volume(Unexpected(found.error()));
    if (csi_ && found->spec.csi) {
      const auto wanted = PersistentCsiVolume(*found, ReadsOnly(volume));
      if (!wanted) return of_volume(Unexpected(wanted.error()));
      FLYBALL_TRY(csi_->SetUp(pod, *wanted));
      continue;
    }
    FLYBALL_TRY(of_volume(SetUpOne(pod, volume, pod_ips)));
  }
  return {};
}

Status PodVolumes::SetUpOne(const Pod& pod, const Volume& volume, const std::vector<std::string>& pod_ips) {
  const std::string path = PathOf(pod, volume);
  if (volume.empty_dir) return MakeEmptyDir(path, *volume.empty_dir, GroupOf(pod));
  if (volume.host_path) return CheckHostPath(*volume.host_path);
  if (!ClaimOf(pod, volume).empty()) {
    FLYBALL_TRY(SourceOf(pod, volume));
    return {};
  }
  if (volume.image) return {};  // the runtime's: MountImage
  if (!HasContent(volume)) return Unexpected(BadRequest("this node does not support volumes of that type"));
  FLYBALL_TRY(MakePrivateFolder(path));
  chmod(path.c_str(), 0755);
  const ContentSources sources{client_, certificates_, node_.allocatable, {pod_ips, node_.addresses}};
  FLYBALL_ASSIGN(const VolumeFiles files, ContentOf(sources, pod, volume, path));
  return WriteAtomically(path, files, GroupOf(pod));
}

Result<PersistentVolume> PodVolumes::VolumeOfClaim(const Pod& pod, const std::string& claim) {
  FLYBALL_ASSIGN(const json::Value object,
                 client_.Of<PersistentVolumeClaim>().Get(pod.metadata.namespace_, claim));
  const std::string name(object["spec"]["volumeName"].string_or(""));
  if (name.empty() || object["status"]["phase"].string_or("") != "Bound")
    return Unexpected(Error(Reason::kNotFound, "PersistentVolumeClaim \"" + claim + "\" is not bound"));
  return client_.Get<PersistentVolume>("", name);
}

Result<std::string> PodVolumes::SourceOf(const Pod& pod, const Volume& volume) {
  if (volume.host_path) return volume.host_path->path;
  if (volume.csi && csi_) return csi_->PathOf(pod.metadata.uid, InlineCsiVolume(pod, volume));
  const std::string claim = ClaimOf(pod, volume);
  if (claim.empty()) return PathOf(pod, volume);
  FLYBALL_ASSIGN(const PersistentVolume found, VolumeOfClaim(pod, claim));
  if (found.spec.host_path) {
    FLYBALL_TRY(CheckHostPath(*found.spec.host_path));
    return found.spec.host_path->path;
  }
  if (found.spec.local) return found.spec.local->path;
  if (found.spec.csi && csi_) {
    FLYBALL_ASSIGN(const CsiVolume wanted, PersistentCsiVolume(found, ReadsOnly(volume)));
    return csi_->PathOf(pod.metadata.uid, wanted);
  }
  return Unexpected(BadRequest("persistent volume \"" + found.metadata.name +
                               "\" is of a type that this node does not support"));
}

Result<std::vector<ContainerMount>> PodVolumes::MountsOf(
    const Pod& pod, const Container& container,
    const std::function<std::string(const std::string&)>& expand) {
  std::vector<ContainerMount> mounts;
  for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
    const VolumeMount& wanted = container.volume_mounts[i];
    const Volume* const volume = FindVolume(pod, wanted.name);
    if (!volume) return Unexpected(BadRequest("volume \"" + wanted.name + "\" does not exist"));
    FLYBALL_ASSIGN(std::string source, SourceOf(pod, *volume));
    const std::string sub_path =
        wanted.sub_path_expr.empty() ? wanted.sub_path : expand(wanted.sub_path_expr);
    if (!sub_path.empty()) {
      auto part = SubPath(pod, container, i, source, sub_path);
      // As upstream, and the log says why: the message is for whoever may read the pod.
      if (!part) return Unexpected(SubPathRefused(wanted, container, part.error()));
      source = std::move(*part);
    } else if (access(source.c_str(), F_OK) != 0) {
      // As upstream: a path of the machine that is not there becomes a folder.
      std::error_code error;
      fs::create_directories(source, error);
    }
    // What the node writes itself is not for containers to change.
    const bool read_only = wanted.read_only || HasContent(*volume) || volume->image || ReadsOnly(*volume);
    mounts.push_back({.source = source,
                      .target = wanted.mount_path,
                      .read_only = read_only,
                      .recursive_read_only = read_only && IsRecursive(wanted),
                      .propagation = wanted.mount_propagation.value_or("")});
  }
  return mounts;
}

// Mounted to a place of ours through a descriptor: what containers do to links in the volume meanwhile does
// not matter.
Result<std::string> PodVolumes::SubPath(const Pod& pod, const Container& container, std::size_t index,
                                        const std::string& volume, const std::string& path) {
  FLYBALL_ASSIGN(const auto components, SafeComponents(path));
  if (path.starts_with('/') || components.empty())
    return Unexpected(BadRequest("subPath \"" + path + "\" must be a relative path below the volume"));
  FLYBALL_ASSIGN(const RootedTree tree, RootedTree::Open(volume));
  std::string relative;
  for (const std::string& part : components) relative += (relative.empty() ? "" : "/") + part;
  OwnedFd found = OpenInRoot(tree.fd(), relative, O_PATH);
  if (!found && errno == ENOENT) {
    FLYBALL_ASSIGN(const Place place, tree.PlaceOf(components));
    if (mkdirat(place.folder.get(), place.name.c_str(), 0750) != 0 && errno != EEXIST)
      return Unexpected(MountError("failed to create subPath \"" + path + "\""));
    found = OpenInRoot(tree.fd(), relative, O_PATH);
  }
  if (!found) return Unexpected(MountError("failed to prepare subPath for volumeMount \"" + path + "\""));
  const std::string folder = folder_ + "/" + pod.metadata.uid + ".subpaths";
  const std::string target = folder + "/" + container.name + "-" + std::to_string(index);
  FLYBALL_TRY(MakePrivateFolder(folder));
  umount2(target.c_str(), MNT_DETACH);
  struct stat info {};
  fstat(found.get(), &info);
  if (S_ISDIR(info.st_mode))
    mkdir(target.c_str(), 0700);
  else
    std::ofstream(target).flush();
  const std::string source = "/proc/self/fd/" + std::to_string(found.get());
  if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return Unexpected(MountError("failed to mount subPath \"" + path + "\""));
  return target;
}

std::map<std::string, std::uint64_t> PodVolumes::EmptyDirBytes(const Pod& pod) const {
  std::map<std::string, std::uint64_t> bytes;
  for (const Volume& volume : pod.spec.volumes)
    if (volume.empty_dir && volume.empty_dir->medium != "Memory")
      bytes[volume.name] = FolderBytes(PathOf(pod, volume));
  return bytes;
}

void PodVolumes::KeepOnly(const std::set<std::string>& pod_uids) {
  for (const std::string& uid : found_)
    if (!pod_uids.contains(uid)) (void)TearDown(uid);
  if (csi_) csi_->KeepOnly(pod_uids);
}

void PodVolumes::Release(const std::string& pod_uid) {
  if (!csi_) return;
  const auto mutex = MutexOf(pod_uid);
  MutexLock lock(*mutex);
  csi_->Release(pod_uid);
}

Status PodVolumes::TearDown(const std::string& pod_uid) {
  certificates_.Forget(pod_uid);
  const auto mutex = MutexOf(pod_uid);
  MutexLock lock(*mutex);
  {
    MutexLock all(mu_);
    pods_.erase(pod_uid);
  }
  const OwnedFd root(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return csi_ ? csi_->TearDown(pod_uid) : Status();
  for (const std::string& name : {pod_uid + ".subpaths", pod_uid}) {
    std::error_code error;
    // Nothing is removed through a mount: that would be somebody else's.
    for (const auto& entry : fs::directory_iterator(folder_ + "/" + name, error))
      while (umount2(entry.path().c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
      }
    (void)RemoveTree(root.get(), name);
  }
  return csi_ ? csi_->TearDown(pod_uid) : Status();
}

}  // namespace flyball::node
