// How a container of a pod gets its image (upstream: kubelet's image manager).
#include "api/values/duration.h"
#include "node/pod/pod_worker.h"
#include "node/pod/pull_secrets.h"

namespace flyball::node {
namespace {

// How long a pull's failure is shown as an error before it is a back-off.
constexpr Duration kPullErrorShown = std::chrono::seconds(1);

std::string Milliseconds(Duration time) {
  return api::FormatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(time));
}

}  // namespace

void PodWorker::StartUnit(ContainerUnit& unit) {
  unit.state = ContainerUnit::State::kStarting;
  unit.waiting_reason = pod_->spec.init_containers.empty() ? "ContainerCreating" : "PodInitializing";
  unit.waiting_message.clear();
  if (!context_.runtime.pull_executor() || pod_->spec.image_pull_secrets.empty()) return FindImage(unit, {});
  FetchPullSecrets(context_.client, pod_,
                   [weak = weak_from_this(), context = keep_, &unit](PullSecrets secrets) {
                     context->strand.Post([weak, &unit, secrets = std::move(secrets)] {
                       if (const auto self = weak.lock()) self->HavePullSecrets(unit, secrets);
                     });
                   });
}

void PodWorker::HavePullSecrets(ContainerUnit& unit, const PullSecrets& secrets) {
  std::string missing;
  for (const std::string& name : secrets.missing) missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty())
    context_.recorder.Warning(flyball::TargetOf(*pod_), "FailedToRetrieveImagePullSecret",
                              "Unable to retrieve some image pull secrets (" + missing +
                                  "); attempting to pull the image may not succeed.");
  FindImage(unit, secrets.credentials);
}

void PodWorker::FindImage(ContainerUnit& unit, const std::vector<RegistryCredentials>& credentials) {
  if (state_ != State::kRunning || unit.state != ContainerUnit::State::kStarting) return;
  unit.credentials = credentials;
  const Container& spec = SpecOf(unit);
  const ImageRequest request{
      .image = spec.image, .pull_policy = spec.image_pull_policy, .credentials = credentials};
  OnRuntime([request](ContainerRuntime& runtime) { return runtime.FindImage(request); },
            [&unit, request](PodWorker& self, const Result<std::optional<ReadyImage>>& image) {
              self.ImageFound(unit, request, image);
            });
}

void PodWorker::ImageFound(ContainerUnit& unit, const ImageRequest& request,
                           const Result<std::optional<ReadyImage>>& image) {
  if (state_ != State::kRunning || unit.state != ContainerUnit::State::kStarting) return;
  if (!image) return ImageRefused(unit, image.error());
  if (!*image) return PullImage(unit, request);
  ImageReady(
      unit, **image,
      "Container image \"" + request.image + "\" already present on machine and can be accessed by the pod");
}

// Its name is none, or the machine's own images cannot be read.
void PodWorker::ImageRefused(ContainerUnit& unit, const Error& error) {
  const std::string& image = SpecOf(unit).image;
  const bool name = error.Is(Reason::kBadRequest);
  const std::string why = name ? "Failed to apply default image tag \"" + image +
                                     "\": couldn't parse image name \"" + image + "\": " + error.message()
                               : "Failed to inspect image \"" + image + "\": " + error.message();
  const std::string reason = name ? "InvalidImageName" : "ImageInspectError";
  context_.recorder.Warning(TargetOf(unit), "InspectFailed", why);
  context_.recorder.Warning(TargetOf(unit), "Failed", "Error: " + reason);
  WaitFor(unit, reason, why);
}

void PodWorker::PullImage(ContainerUnit& unit, const ImageRequest& request) {
  if (request.pull_policy == "Never") {
    const std::string why =
        "Container image \"" + request.image + "\" is not present with pull policy of Never";
    context_.recorder.Warning(TargetOf(unit), "ErrImageNeverPull", why);
    context_.recorder.Warning(TargetOf(unit), "Failed", "Error: ErrImageNeverPull");
    return WaitFor(unit, "ErrImageNeverPull", why);
  }
  context_.recorder.Normal(TargetOf(unit), "Pulling", "Pulling image \"" + request.image + "\"");
  struct Pulled {
    Result<ReadyImage> image;
    Duration took;
  };
  const SteadyTime asked = context_.strand.clock().Steady();
  On(
      context_.runtime.pull_executor(),
      [request, context = keep_](ContainerRuntime& runtime) {
        const SteadyTime begun = context->strand.clock().Steady();
        auto image = runtime.PullImage(request);
        return Pulled{std::move(image), context->strand.clock().Steady() - begun};
      },
      [&unit, asked, name = request.image](PodWorker& self, const Pulled& pulled) {
        if (self.state_ != State::kRunning || unit.state != ContainerUnit::State::kStarting) return;
        if (!pulled.image) return self.PullFailed(unit, name, pulled.image.error());
        const Duration waited = self.context_.strand.clock().Steady() - asked;
        self.ImageReady(unit, *pulled.image,
                        "Successfully pulled image \"" + name + "\" in " + Milliseconds(pulled.took) + " (" +
                            Milliseconds(waited) + " including waiting). Image size: " +
                            std::to_string(pulled.image->size) + " bytes.");
      });
}

void PodWorker::ImageReady(ContainerUnit& unit, const ReadyImage& image, const std::string& event) {
  unit.image_id = image.id;
  unit.pull_failures = 0;
  context_.recorder.Normal(TargetOf(unit), "Pulled", event);
  PrepareImageVolumes(unit);
}

void PodWorker::PullFailed(ContainerUnit& unit, const std::string& image, const Error& error) {
  unit.state = ContainerUnit::State::kPullWait;
  unit.waiting_reason = "ErrImagePull";
  unit.waiting_message = error.message();
  context_.recorder.Warning(TargetOf(unit), "Failed",
                            "Failed to pull image \"" + image + "\": " + error.message());
  context_.recorder.Warning(TargetOf(unit), "Failed", "Error: ErrImagePull");
  const Duration backoff = BackoffAfter(++unit.pull_failures);
  unit.timer = context_.strand.PostAfter(
      kPullErrorShown, OnStrand([&unit, image, backoff, why = error.message()](PodWorker& self) {
        unit.waiting_reason = "ImagePullBackOff";
        unit.waiting_message = "Back-off pulling image \"" + image + "\": ErrImagePull: " + why;
        self.context_.recorder.Normal(self.TargetOf(unit), "BackOff",
                                      "Back-off pulling image \"" + image + "\"");
        self.context_.recorder.Warning(self.TargetOf(unit), "Failed", "Error: ImagePullBackOff");
        self.Retry(unit, backoff - kPullErrorShown);
        self.WriteStatus();
      }));
  WriteStatus();
}

}  // namespace flyball::node
