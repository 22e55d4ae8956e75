// ImageStore: the images of a node, by name. Below its folder:
//
//   blobs/sha256/<hex>   manifests, configurations and layers as they came
//   layers/<hex>/        layers unpacked for overlayfs, once for all images with the same layers below
//   images.json          which name is which manifest
//   uses/<id>            what a container has mounted: stays until the container lets go
//   lock, writers        held while any of these changes, by any process
//
// Invariant: an image that is listed is complete, was verified, and is unpacked. Removing an image removes
// what no other image and no container uses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "node/images/blob_store.h"
#include "node/images/image_config.h"
#include "node/images/image_reference.h"
#include "node/images/layer_unpacker.h"
#include "node/images/rooted_tree.h"

namespace flyball::node {

struct StoredImage {
  std::string name;             // canonical: "docker.io/library/busybox:latest"
  std::string manifest_digest;  // of the manifest for this machine
  std::string digest;     // what the registry's name points to: that, or an index's; empty: never pulled
  std::string id;         // digest of the configuration, as Docker's image ids
  std::int64_t size = 0;  // of everything as it came
  // Whose credentials (registry_credentials.h) have fetched it; empty: it is for every pod.
  std::vector<std::string> credentials;
  ImageConfig config;
  std::vector<std::string> layers;  // unpacked folders, the lowest first
};

// Where an image came from, if a registry.
struct PulledFrom {
  std::string digest{};       // of what its name means there
  std::string credentials{};  // which of a pod's own were needed; empty: none
};

// While somebody has one, blobs that no image has yet are not taken for garbage.
using ImageWriting = OwnedFd;

// Thread-safe; several processes may use one folder. Methods block: on files, and on other processes' work.
class ImageStore {
 public:
  // Makes the folders. `limits` are those of each layer.
  static Result<ImageStore> Open(const std::string& root, const LayerLimits& limits = {});

  const BlobStore& blobs() const { return blobs_; }
  const LayerLimits& limits() const { return limits_; }

  // Verifies and unpacks an image whose blobs are all in blobs(), then gives it the names, which other images
  // lose. BadRequest if something is not as its manifest says; then nothing has a new name.
  Status Add(const std::string& manifest_digest, const std::vector<std::string>& names,
             const PulledFrom& from = {});
  // By name, or by id ("sha256:..." of the configuration). NotFound.
  Result<StoredImage> Find(const std::string& name_or_id) const;
  Result<std::vector<StoredImage>> List() const;
  // Takes the name away, and all that only it kept. NotFound.
  Status Remove(const std::string& name);
  // Before the first blob of an image is written, until it has been added.
  ImageWriting BeginWriting() const;
  // Removes blobs and layers that nothing refers to: what failed or was interrupted. Left to the last one who
  // writes while others do.
  Status CollectGarbage();

  // Marks an image's layers as used until Release(user). Fails if the image has gone meanwhile.
  Status Use(const std::string& user, const StoredImage& image);
  void Release(const std::string& user);
  // Those who use images.
  std::vector<std::string> Users() const;

 private:
  struct Entry {
    std::string manifest, digest;
    std::vector<std::string> credentials;
  };
  using Index = std::map<std::string, Entry>;  // by name
  // What a name is from now on, where it meant something before.
  static Entry Updated(const Index& index, const std::string& name, Entry entry);
  class Lock;

  ImageStore(std::string root, BlobStore blobs, const LayerLimits& limits)
      : root_(std::move(root)), blobs_(std::move(blobs)), limits_(limits) {}

  Result<Index> ReadIndex() const;
  Status WriteIndex(const Index& index) const;
  Result<StoredImage> Describe(const std::string& name, const Entry& entry) const;
  // The folders of all layers, of which those that are missing are unpacked.
  Status Unpack(const ImageManifest& manifest, const ImageConfig& config) const;
  std::string LayerFolder(const std::string& chain_id) const;
  Status Sweep(const Index& index) const;

  std::string root_;
  BlobStore blobs_;
  LayerLimits limits_;
};

}  // namespace flyball::node
