// RegistryClient: one repository of one registry, by the OCI distribution API: manifests by tag or digest,
// and blobs, both verified.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "node/images/blob_store.h"
#include "node/images/image_config.h"
#include "node/registry/registry_hosts.h"
#include "node/registry/registry_http.h"

namespace flyball::node {

struct RegistryDocument {
  std::string text, digest;
};

// Thread-safe: blobs may be fetched in parallel. Methods block.
class RegistryClient {
 public:
  // `registry`: whose images the endpoint has, told to mirrors. `http` must outlive it.
  RegistryClient(RegistryHttp& http, RegistryEndpoint endpoint, std::string registry, std::string repository,
                 std::optional<RegistryCredentials> credentials);

  // NotFound; Unauthorized; BadRequest if the content has not the digest that was asked for or told.
  Result<RegistryDocument> Manifest(const std::string& tag_or_digest);
  // Adds a blob to the store. A connection that breaks is made again, from where it broke. BadRequest if the
  // content has another digest or size; kCancelled once `stop` is set. Nothing is kept on failure. `fetched`,
  // if there is one, grows with each byte that is kept.
  Status Blob(const ContentDescriptor& blob, const BlobStore& store, const std::atomic<bool>& stop,
              std::atomic<std::int64_t>* fetched = nullptr);

  // Whether the registry wanted and got credentials.
  bool used_credentials() const;

 private:
  Result<std::unique_ptr<RegistryResponse>> Get(const std::string& path, net::Headers headers);
  // One connection's worth; true at the end of the blob.
  Result<bool> Continue(const ContentDescriptor& blob, BlobWriter& writer, const std::atomic<bool>& stop,
                        std::atomic<std::int64_t>* fetched);
  std::string UrlOf(const std::string& path) const;

  RegistryHttp& http_;
  const RegistryEndpoint endpoint_;
  const std::string registry_, repository_;
  const std::optional<RegistryCredentials> credentials_;
  mutable Mutex mu_;
  std::string authorization_ FLYBALL_GUARDED_BY(mu_);
  bool used_credentials_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball::node
