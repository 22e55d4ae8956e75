// Which images containers may have.
#include <algorithm>

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

}  // namespace

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
