// Images that containers have as volumes (upstream: getImageVolumes).
#include "node/pod/pod_worker.h"

namespace flyball::node {
namespace {

struct ImageVolume {
  std::string volume, path;
  ImageRequest request;
};

// What became of them: the image at fault, if one is.
struct Mounted {
  std::string image;
  Status status;
};

std::vector<ImageVolume> ImageVolumesOf(const Pod& pod, const Container& container, const PodVolumes& volumes,
                                        const std::vector<RegistryCredentials>& credentials) {
  std::vector<ImageVolume> wanted;
  for (const Volume& volume : pod.spec.volumes) {
    if (!volume.image) continue;
    for (const VolumeMount& mount : container.volume_mounts)
      if (mount.name == volume.name) {
        wanted.push_back({volume.name,
                          volumes.PathOf(pod, volume),
                          {.image = volume.image->reference,
                           .pull_policy = volume.image->pull_policy,
                           .credentials = credentials}});
        break;
      }
  }
  return wanted;
}

Status MountOne(ContainerRuntime& runtime, const std::string& pod_uid, const ImageVolume& wanted) {
  FLYBALL_ASSIGN(const auto found, runtime.FindImage(wanted.request));
  if (!found && wanted.request.pull_policy == "Never")
    return Unexpected(Error(Reason::kNotFound, "Container image \"" + wanted.request.image +
                                                   "\" is not present with pull policy of Never"));
  if (!found) FLYBALL_TRY(runtime.PullImage(wanted.request));
  return runtime.MountImage(pod_uid, wanted.volume, wanted.request.image, wanted.path);
}

}  // namespace

void PodWorker::PrepareImageVolumes(ContainerUnit& unit) {
  if (!context_.volumes || !context_.runtime.pull_executor()) return PrepareVolumes(unit);
  auto wanted = ImageVolumesOf(*pod_, SpecOf(unit), *context_.volumes, unit.credentials);
  if (wanted.empty()) return PrepareVolumes(unit);
  On(
      context_.runtime.pull_executor(),
      [wanted = std::move(wanted), uid = pod_->metadata.uid](ContainerRuntime& runtime) {
        for (const ImageVolume& one : wanted)
          if (const Status status = MountOne(runtime, uid, one); !status)
            return Mounted{one.request.image, status};
        return Mounted{};
      },
      [&unit](PodWorker& self, const Mounted& mounted) {
        if (self.state_ != State::kRunning || unit.state != ContainerUnit::State::kStarting) return;
        if (!mounted.status) return self.PullFailed(unit, mounted.image, mounted.status.error());
        self.PrepareVolumes(unit);
      });
}

}  // namespace flyball::node
