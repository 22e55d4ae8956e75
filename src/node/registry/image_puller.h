// ImagePuller: brings images from registries into an ImageStore.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "node/images/image_store.h"
#include "node/registry/registry_client.h"
#include "node/registry/registry_hosts.h"

namespace flyball::node {

struct ImagePullerOptions {
  std::string registries_file = kRegistriesFile;  // read at each pull
  RegistryHttpOptions http{};                     // but for `tls`, which the file has
};

// How far a pull is. Written by the pull, and for anybody to read.
struct PullProgress {
  std::atomic<int> layers = 0, layers_fetched = 0;         // those that are not here yet
  std::atomic<std::int64_t> bytes = 0, bytes_fetched = 0;  // of these
  // Called for each layer that has been fetched, by any thread, one at a time.
  std::function<void(const ContentDescriptor& layer)> on_layer{};
};

// Thread-safe. One image is pulled once at a time: who asks meanwhile waits and finds it there.
class ImagePuller {
 public:
  // Both must outlive it. The executor runs timers.
  ImagePuller(ImageStore& store, Executor& timers, ImagePullerOptions options = {});

  // The image under its name, as the registry has it now. `credentials` are tried in turn, then those of the
  // machine; none: anonymously. An error has containerd's words. Blocks.
  Result<StoredImage> Pull(const ImageReference& image, const std::vector<RegistryCredentials>& credentials,
                           PullProgress* progress = nullptr);
  // Fails the pulls under way and all that follow.
  void Stop();

 private:
  struct Attempt;
  class Stoppable;
  Result<StoredImage> PullFrom(const Attempt& attempt);
  Result<StoredImage> PullFromEndpoints(const ImageReference& image,
                                        const std::vector<RegistryCredentials>& credentials,
                                        PullProgress* progress);
  Status FetchLayers(RegistryClient& client, const std::vector<ContentDescriptor>& layers,
                     PullProgress* progress);
  std::shared_ptr<Mutex> LockOf(const std::string& name);

  ImageStore& store_;
  Executor& timers_;
  const ImagePullerOptions options_;
  Mutex mu_;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  std::set<RegistryHttp*> live_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, std::weak_ptr<Mutex>> pulling_ FLYBALL_GUARDED_BY(mu_);  // by name
};

}  // namespace flyball::node
