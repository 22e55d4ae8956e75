// Which images containers may have, and images as volumes.
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "node/oci/oci_runtime_core.h"
#include "node/registry/registry_credentials.h"

namespace flyball::node {
namespace {

ReadyImage Ready(const StoredImage& image) {
  const auto reference = ImageReference::Parse(image.name);
  // As containerd: what was pulled is named by its digest in its repository, everything else by its id.
  const bool pulled = reference && !image.digest.empty();
  return {.id = pulled ? reference->Repository() + "@" + image.digest : image.id, .size = image.size};
}

// Upstream: KubeletEnsureSecretPulledImages. What needed credentials is for those who have them.
bool MayUse(const StoredImage& image, const std::vector<RegistryCredentials>& credentials) {
  const auto& needed = image.credentials;
  return needed.empty() || std::any_of(credentials.begin(), credentials.end(), [&](const auto& one) {
           return std::find(needed.begin(), needed.end(), CredentialsDigest(one)) != needed.end();
         });
}

// Names of pods' UIDs and volumes have no dots.
std::string VolumeUser(const std::string& pod_uid, const std::string& volume) {
  return pod_uid + "." + volume;
}

bool IsMountPoint(const std::string& path) {
  struct stat here {
  }, above{};
  return stat(path.c_str(), &here) == 0 && stat((path + "/..").c_str(), &above) == 0 &&
         here.st_dev != above.st_dev;
}

// The layers one upon the other, without a place to write to. Overlayfs wants two: `empty` is the other one.
Status MountLayers(const StoredImage& image, const std::string& empty, const std::string& path) {
  std::string lower;
  for (auto layer = image.layers.rbegin(); layer != image.layers.rend(); ++layer) lower += *layer + ":";
  const std::string options = "lowerdir=" + lower + empty;
  if (mount("overlay", path.c_str(), "overlay", MS_RDONLY | MS_NODEV | MS_NOSUID, options.c_str()) == 0)
    return {};
  return Unexpected(InternalError("cannot mount image \"" + image.name + "\": " + std::strerror(errno)));
}

}  // namespace

Status OciRuntime::MountImage(const std::string& pod_uid, const std::string& volume, const std::string& name,
                              const std::string& path) {
  if (IsMountPoint(path)) return {};
  FLYBALL_ASSIGN(const StoredImage image, images_.Find(name));
  const std::string empty = options_.data_dir + "/oci/empty";
  std::error_code error;
  std::filesystem::create_directories(path, error);
  FLYBALL_TRY(MakePrivateFolder(empty));
  FLYBALL_TRY(images_.Use(VolumeUser(pod_uid, volume), image));
  return MountLayers(image, empty, path);
}

void OciRuntime::UnmountImages(const std::string& pod_uid) {
  for (const std::string& user : images_.Users()) {
    if (!user.starts_with(pod_uid + ".")) continue;
    umount2((volumes_folder() + "/" + pod_uid + "/" + user.substr(pod_uid.size() + 1)).c_str(), MNT_DETACH);
    images_.Release(user);
  }
}

Result<std::optional<ReadyImage>> OciRuntime::FindImage(const ImageRequest& request) {
  FLYBALL_TRY(ImageReference::Parse(request.image));
  if (request.pull_policy == "Always") return std::optional<ReadyImage>();
  const auto image = images_.Find(request.image);
  if (!image && !image.error().Is(Reason::kNotFound)) return Unexpected(image.error());
  if (!image || !MayUse(*image, request.credentials)) return std::optional<ReadyImage>();
  return std::optional(Ready(*image));
}

Result<ReadyImage> OciRuntime::PullImage(const ImageRequest& request) {
  FLYBALL_ASSIGN(const ImageReference reference, ImageReference::Parse(request.image));
  FLYBALL_ASSIGN(const StoredImage image, puller_.Pull(reference, request.credentials));
  return Ready(image);
}

}  // namespace flyball::node
