#include "node/registry/image_puller.h"

#include <algorithm>

#include "base/observe/log.h"
#include "json/json.h"
#include "node/registry/registry_credentials.h"

namespace flyball::node {
namespace {

// Layers of one image at once, as Docker and containerd have it.
constexpr int kParallelLayers = 3;
// Indexes may name indexes; nobody nests them deeper.
constexpr int kMaxIndexDepth = 3;

// The manifest of the image for this machine, whose text is in the store, and what led to it.
struct FoundManifest {
  ImageManifest manifest;
  std::string digest;           // of the manifest
  std::string registry_digest;  // of what the name means
};

Result<FoundManifest> FindManifest(RegistryClient& client, const BlobStore& blobs,
                                   const ImageReference& image) {
  FoundManifest found;
  std::string wanted = image.digest.empty() ? image.tag : image.digest;
  for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
    FLYBALL_ASSIGN(const RegistryDocument document, client.Manifest(wanted));
    if (depth == 0) found.registry_digest = document.digest;
    FLYBALL_ASSIGN(const json::Value parsed, json::Parse(document.text));
    if (IsImageIndex(parsed)) {
      FLYBALL_ASSIGN(const auto manifests, ParseImageIndex(document.text));
      FLYBALL_ASSIGN(const ContentDescriptor chosen, ChooseManifest(manifests));
      wanted = chosen.digest;
      continue;
    }
    FLYBALL_ASSIGN(found.manifest, ParseImageManifest(document.text));
    FLYBALL_ASSIGN(found.digest, blobs.Add(document.text));
    return found;
  }
  return Unexpected(BadRequest("the image's indexes name each other without end"));
}

// The content that is not here yet, each once.
std::vector<ContentDescriptor> Missing(const BlobStore& blobs, const ImageManifest& manifest) {
  std::vector<ContentDescriptor> missing;
  const auto add = [&](const ContentDescriptor& content) {
    const bool listed = std::any_of(missing.begin(), missing.end(),
                                    [&](const auto& known) { return known.digest == content.digest; });
    if (!listed && !blobs.Has(content.digest)) missing.push_back(content);
  };
  add(manifest.config);
  for (const ContentDescriptor& layer : manifest.layers) add(layer);
  return missing;
}

// Another place that has the image may have been tried before.
void BeginCount(PullProgress* progress, const std::vector<ContentDescriptor>& layers) {
  if (!progress) return;
  progress->layers = static_cast<int>(layers.size());
  progress->layers_fetched = 0;
  progress->bytes_fetched = 0;
  std::int64_t bytes = 0;
  for (const ContentDescriptor& layer : layers) bytes += layer.size;
  progress->bytes = bytes;
}

void CountLayer(PullProgress* progress, const ContentDescriptor& layer) {
  if (!progress) return;
  ++progress->layers_fetched;
  if (progress->on_layer) progress->on_layer(layer);
}

// Counts those who work, and keeps the first error.
class Workers {
 public:
  explicit Workers(int count) : running_(count) {}
  std::atomic<bool>& stop() { return stop_; }
  void Done(const Status& status) {
    MutexLock lock(mu_);
    if (!status && status_) status_ = status;
    if (!status) stop_ = true;
    --running_;
    changed_.NotifyAll();
  }
  Status Wait() {
    MutexLock lock(mu_);
    while (running_ > 0) changed_.Wait(mu_);
    return status_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int running_ FLYBALL_GUARDED_BY(mu_);
  Status status_ FLYBALL_GUARDED_BY(mu_);
  std::atomic<bool> stop_ = false;
};

Error Described(const ImageReference& image, const Error& error) {
  const std::string name = image.Name();
  const std::string start = "failed to pull and unpack image \"" + name + "\": ";
  if (error.Is(Reason::kNotFound) && !error.message().starts_with("no match for platform"))
    return Error(Reason::kNotFound,
                 start + "failed to resolve reference \"" + name + "\": " + name + ": not found");
  if (error.Is(Reason::kUnauthorized) || error.Is(Reason::kConnection))
    return Error(error.reason(), start + "failed to resolve reference \"" + name + "\": " + error.message());
  return Error(error.reason(), start + error.message());
}

}  // namespace

// One way to get an image.
struct ImagePuller::Attempt {
  const ImageReference& image;
  RegistryHttp& http;
  const RegistryEndpoint& endpoint;
  const std::optional<RegistryCredentials>& credentials;
  PullProgress* progress;
};

// Within its life, Stop reaches the connections of a pull.
class ImagePuller::Stoppable {
 public:
  Stoppable(ImagePuller& puller, RegistryHttp& http) : puller_(puller), http_(http) {
    MutexLock lock(puller_.mu_);
    puller_.live_.insert(&http_);
    if (puller_.stopped_) http_.Cancel();
  }
  Stoppable(const Stoppable&) = delete;
  ~Stoppable() {
    MutexLock lock(puller_.mu_);
    puller_.live_.erase(&http_);
  }

 private:
  ImagePuller& puller_;
  RegistryHttp& http_;
};

void ImagePuller::Stop() {
  MutexLock lock(mu_);
  stopped_ = true;
  for (RegistryHttp* const http : live_) http->Cancel();
}

ImagePuller::ImagePuller(ImageStore& store, Executor& timers, ImagePullerOptions options)
    : store_(store), timers_(timers), options_(std::move(options)) {}

Status ImagePuller::FetchLayers(RegistryClient& client, const std::vector<ContentDescriptor>& layers,
                                PullProgress* progress) {
  for (const ContentDescriptor& layer : layers)
    if (layer.size > store_.limits().max_bytes)
      return Unexpected(BadRequest("content " + layer.digest + " is larger than the " +
                                   std::to_string(store_.limits().max_bytes) + " bytes it may have"));
  BeginCount(progress, layers);
  const int threads = std::min(kParallelLayers, static_cast<int>(layers.size()));
  if (threads == 0) return {};
  Workers workers(threads);
  std::atomic<std::size_t> next = 0;
  Mutex telling;
  ThreadPool pool("pull", threads);
  for (int i = 0; i < threads; ++i)
    pool.Post([&] {
      Status status;
      for (std::size_t at = next++; at < layers.size() && status && !workers.stop(); at = next++) {
        status = client.Blob(layers[at], store_.blobs(), workers.stop(),
                             progress ? &progress->bytes_fetched : nullptr);
        MutexLock lock(telling);
        if (status) CountLayer(progress, layers[at]);
      }
      workers.Done(status);
    });
  return workers.Wait();
}

Result<StoredImage> ImagePuller::PullFrom(const Attempt& attempt) {
  RegistryClient client(attempt.http, attempt.endpoint, attempt.image.registry, attempt.image.repository,
                        attempt.credentials);
  FLYBALL_ASSIGN(const FoundManifest found, FindManifest(client, store_.blobs(), attempt.image));
  // A configuration is a document, not a layer.
  if (found.manifest.config.size > kMaxImageDocument)
    return Unexpected(BadRequest("the image's configuration is too large"));
  FLYBALL_TRY(FetchLayers(client, Missing(store_.blobs(), found.manifest), attempt.progress));
  PulledFrom from{.digest = found.registry_digest};
  if (client.used_credentials() && attempt.credentials && attempt.credentials->of_pod)
    from.credentials = CredentialsDigest(*attempt.credentials);
  FLYBALL_TRY(store_.Add(found.digest, {attempt.image.Name()}, from));
  return store_.Find(attempt.image.Name());
}

Result<StoredImage> ImagePuller::PullFromEndpoints(const ImageReference& image,
                                                   const std::vector<RegistryCredentials>& credentials,
                                                   PullProgress* progress) {
  FLYBALL_ASSIGN(const RegistryHosts hosts, RegistryHosts::Load(options_.registries_file));
  RegistryHttpOptions options = options_.http;
  options.tls = [&hosts](const std::string& authority) { return hosts.TlsOf(authority); };
  RegistryHttp http(timers_, options);
  const Stoppable stoppable(*this, http);
  const auto machine = MachineCredentials();
  std::optional<Error> failure;
  for (const RegistryEndpoint& endpoint : hosts.EndpointsOf(image.registry)) {
    std::vector<std::optional<RegistryCredentials>> ways;
    // What pods have for a registry is nobody else's.
    if (!endpoint.mirror)
      for (const auto* list : {&credentials, &machine})
        for (auto& one : CredentialsFor(*list, image.Repository())) ways.emplace_back(std::move(one));
    if (endpoint.credentials) ways.emplace_back(endpoint.credentials);
    if (ways.empty()) ways.emplace_back(std::nullopt);
    for (const auto& way : ways) {
      auto pulled = PullFrom({image, http, endpoint, way, progress});
      if (pulled) return pulled;
      failure = pulled.error();
      if (endpoint.mirror)
        log::Info("a mirror does not have the image",
                  {{"image", image.Name()}, {"mirror", endpoint.url}, {"error", failure->message()}});
    }
  }
  return Unexpected(*failure);
}

std::shared_ptr<Mutex> ImagePuller::LockOf(const std::string& name) {
  MutexLock lock(mu_);
  std::erase_if(pulling_, [](const auto& entry) { return entry.second.expired(); });
  auto mutex = pulling_[name].lock();
  if (!mutex) pulling_[name] = mutex = std::make_shared<Mutex>();
  return mutex;
}

Result<StoredImage> ImagePuller::Pull(const ImageReference& image,
                                      const std::vector<RegistryCredentials>& credentials,
                                      PullProgress* progress) {
  const auto alone = LockOf(image.Name());
  MutexLock lock(*alone);
  Result<StoredImage> pulled = [&] {
    const ImageWriting writing = store_.BeginWriting();
    return PullFromEndpoints(image, credentials, progress);
  }();
  // What a failure left, or what an image was before.
  FLYBALL_TRY(store_.CollectGarbage());
  if (!pulled) return Unexpected(Described(image, pulled.error()));
  return pulled;
}

}  // namespace flyball::node
