#include "node/images/image_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/files/durable_file.h"
#include "json/json.h"
#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// Folders are parts of a mount's options, which have a page of room: a part of the digest is enough.
constexpr std::size_t kLayerNameLength = 24;

// Identifies a layer with all those below it (upstream: identity.ChainID).
std::vector<std::string> ChainIds(const std::vector<std::string>& diff_ids) {
  std::vector<std::string> chain;
  for (const std::string& id : diff_ids)
    chain.push_back(chain.empty() ? id : DigestOf(chain.back() + " " + id));
  return chain;
}

// Removes a folder of ours with everything in it.
Status RemoveFolder(const std::string& path) {
  const fs::path at(path);
  const OwnedFd parent(open(at.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return Unexpected(InternalError(path + ": no parent folder"));
  return RemoveTree(parent.get(), at.filename().string());
}

std::vector<std::string> NamesInFolder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  return names;
}

Result<std::string> UnpackBlob(const std::string& blob, const std::string& folder,
                               const std::vector<std::string>& lower, const LayerLimits& limits) {
  FLYBALL_ASSIGN(const auto archive, ArchiveReader::Open(blob, limits.max_bytes));
  return UnpackLayer(*archive, folder, lower, limits);
}

}  // namespace

// Held by one process or thread at a time.
class ImageStore::Lock {
 public:
  explicit Lock(const std::string& root)
      : fd_(open((root + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (flock(fd_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  const OwnedFd fd_;
};

Result<ImageStore> ImageStore::Open(const std::string& root, const LayerLimits& limits) {
  FLYBALL_ASSIGN(BlobStore blobs, BlobStore::Open(root));
  for (const char* folder : {"/layers", "/uses"}) FLYBALL_TRY(MakePrivateFolder(root + folder));
  return ImageStore(root, std::move(blobs), limits);
}

Result<ImageStore::Index> ImageStore::ReadIndex() const {
  const std::string path = root_ + "/images.json";
  Index index;
  if (access(path.c_str(), F_OK) != 0) return index;
  FLYBALL_ASSIGN(const std::string text, ReadFile(path));
  FLYBALL_ASSIGN(const json::Value document, json::Parse(text));
  if (const json::Value* images = document.Find("images"); images && images->is_object())
    for (const auto& [name, entry] : images->as_object()) {
      Entry& read = index[name];
      read.manifest = entry["manifest"].string_or("");
      read.digest = entry["digest"].string_or("");
      if (const json::Value* credentials = entry.Find("credentials"); credentials && credentials->is_array())
        for (const json::Value& one : credentials->as_array())
          read.credentials.emplace_back(one.string_or(""));
    }
  return index;
}

Status ImageStore::WriteIndex(const Index& index) const {
  json::Object images;
  for (const auto& [name, entry] : index)
    images.Set(
        name, json::Object{{"manifest", entry.manifest},
                           {"digest", entry.digest},
                           {"credentials", json::Array(entry.credentials.begin(), entry.credentials.end())}});
  return WriteFileDurably(root_ + "/images.json",
                          json::WritePretty(json::Object{{"images", std::move(images)}}));
}

std::string ImageStore::LayerFolder(const std::string& chain_id) const {
  return root_ + "/layers/" + chain_id.substr(chain_id.find(':') + 1, kLayerNameLength);
}

Status ImageStore::Unpack(const ImageManifest& manifest, const ImageConfig& config) const {
  if (manifest.layers.size() != config.diff_ids.size())
    return Unexpected(BadRequest("the image has " + std::to_string(manifest.layers.size()) +
                                 " layers and its configuration names " +
                                 std::to_string(config.diff_ids.size())));
  const auto chain = ChainIds(config.diff_ids);
  std::vector<std::string> lower;
  for (std::size_t i = 0; i < chain.size(); lower.push_back(LayerFolder(chain[i])), ++i) {
    const std::string folder = LayerFolder(chain[i]);
    if (access(folder.c_str(), F_OK) == 0) continue;
    FLYBALL_ASSIGN(const std::string fresh, blobs_.NewFolder());
    auto diff_id = UnpackBlob(blobs_.Path(manifest.layers[i].digest), fresh, lower, limits_);
    if (diff_id && *diff_id != config.diff_ids[i])
      diff_id = Unexpected(BadRequest("layer " + manifest.layers[i].digest + " has the content " + *diff_id +
                                      ", its image says " + config.diff_ids[i]));
    if (diff_id && rename(fresh.c_str(), folder.c_str()) == 0) continue;
    FLYBALL_TRY(RemoveFolder(fresh));
    if (!diff_id) return Unexpected(diff_id.error());
    return Unexpected(InternalError(folder + ": cannot be made"));
  }
  return {};
}

// Pulling the same again with other credentials makes it usable with either; what every pod may use stays so.
ImageStore::Entry ImageStore::Updated(const Index& index, const std::string& name, Entry entry) {
  constexpr std::size_t kMostCredentials = 100;
  const auto before = index.find(name);
  if (before == index.end() || before->second.manifest != entry.manifest) return entry;
  const auto& known = before->second.credentials;
  if (known.empty()) entry.credentials.clear();
  for (const std::string& one : known)
    if (!entry.credentials.empty() && entry.credentials.size() < kMostCredentials &&
        entry.credentials[0] != one)
      entry.credentials.push_back(one);
  return entry;
}

Status ImageStore::Add(const std::string& manifest_digest, const std::vector<std::string>& names,
                       const PulledFrom& from) {
  const Lock lock(root_);
  FLYBALL_ASSIGN(const std::string text, blobs_.Read(manifest_digest, kMaxImageDocument));
  FLYBALL_ASSIGN(const ImageManifest manifest, ParseImageManifest(text));
  FLYBALL_ASSIGN(const std::string config_text, blobs_.Read(manifest.config.digest, kMaxImageDocument));
  FLYBALL_ASSIGN(const ImageConfig config, ParseImageConfig(config_text));
  if (!config.architecture.empty() && config.architecture != MachineArchitecture())
    return Unexpected(BadRequest("the image is for " + config.os + "/" + config.architecture +
                                 ", this machine is linux/" + std::string(MachineArchitecture())));
  for (const ContentDescriptor& layer : manifest.layers)
    if (!blobs_.Has(layer.digest))
      return Unexpected(BadRequest("layer " + layer.digest + " of the image is missing"));
  FLYBALL_TRY(Unpack(manifest, config));
  FLYBALL_ASSIGN(Index index, ReadIndex());
  Entry entry{.manifest = manifest_digest, .digest = from.digest, .credentials = {}};
  if (!from.credentials.empty()) entry.credentials.push_back(from.credentials);
  for (const std::string& name : names) index[name] = Updated(index, name, entry);
  return WriteIndex(index);
}

Result<StoredImage> ImageStore::Describe(const std::string& name, const Entry& entry) const {
  StoredImage image{.name = name, .manifest_digest = entry.manifest, .digest = entry.digest};
  image.credentials = entry.credentials;
  FLYBALL_ASSIGN(const std::string text, blobs_.Read(entry.manifest, kMaxImageDocument));
  FLYBALL_ASSIGN(const ImageManifest manifest, ParseImageManifest(text));
  image.id = manifest.config.digest;
  FLYBALL_ASSIGN(const std::string config, blobs_.Read(image.id, kMaxImageDocument));
  FLYBALL_ASSIGN(image.config, ParseImageConfig(config));
  image.size = manifest.config.size;
  for (const ContentDescriptor& layer : manifest.layers) image.size += layer.size;
  for (const std::string& id : ChainIds(image.config.diff_ids)) image.layers.push_back(LayerFolder(id));
  return image;
}

Result<StoredImage> ImageStore::Find(const std::string& name_or_id) const {
  const Lock lock(root_);
  FLYBALL_ASSIGN(const Index index, ReadIndex());
  std::string name = name_or_id;
  if (const auto reference = ImageReference::Parse(name_or_id)) name = reference->Name();
  if (const auto found = index.find(name); found != index.end()) return Describe(name, found->second);
  // The name of a digest that was pulled or loaded by a tag of the same repository; or an image's id.
  for (const auto& [known, entry] : index) {
    FLYBALL_ASSIGN(StoredImage image, Describe(known, entry));
    const auto parsed = ImageReference::Parse(known);
    const std::string repository = parsed ? parsed->Repository() : known;
    if (image.id == name_or_id || repository + "@" + image.manifest_digest == name ||
        repository + "@" + image.digest == name)
      return image;
  }
  return Unexpected(Error(Reason::kNotFound, "image \"" + name_or_id + "\" is not on this node"));
}

Result<std::vector<StoredImage>> ImageStore::List() const {
  const Lock lock(root_);
  FLYBALL_ASSIGN(const Index index, ReadIndex());
  std::vector<StoredImage> images;
  for (const auto& [name, entry] : index) {
    FLYBALL_ASSIGN(StoredImage image, Describe(name, entry));
    images.push_back(std::move(image));
  }
  return images;
}

Status ImageStore::Remove(const std::string& name) {
  FLYBALL_ASSIGN(const StoredImage image, Find(name));
  const Lock lock(root_);
  FLYBALL_ASSIGN(Index index, ReadIndex());
  index.erase(image.name);
  FLYBALL_TRY(WriteIndex(index));
  return Sweep(index);
}

ImageWriting ImageStore::BeginWriting() const {
  OwnedFd fd(open((root_ + "/writers").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  while (flock(fd.get(), LOCK_SH) != 0 && errno == EINTR) {
  }
  return ImageWriting(std::move(fd));
}

Status ImageStore::CollectGarbage() {
  const Lock lock(root_);
  FLYBALL_ASSIGN(const Index index, ReadIndex());
  return Sweep(index);
}

Status ImageStore::Sweep(const Index& index) const {
  const OwnedFd writers(open((root_ + "/writers").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (flock(writers.get(), LOCK_EX | LOCK_NB) != 0) return {};
  for (const std::string& name : NamesInFolder(root_ + "/incoming"))
    FLYBALL_TRY(RemoveFolder(root_ + "/incoming/" + name));
  std::set<std::string> blobs, layers;
  for (const auto& [name, entry] : index) {
    FLYBALL_ASSIGN(const StoredImage image, Describe(name, entry));
    FLYBALL_ASSIGN(const std::string text, blobs_.Read(entry.manifest, kMaxImageDocument));
    FLYBALL_ASSIGN(const ImageManifest manifest, ParseImageManifest(text));
    blobs.insert({entry.manifest, image.id});
    for (const ContentDescriptor& layer : manifest.layers) blobs.insert(layer.digest);
    for (const std::string& folder : image.layers) layers.insert(fs::path(folder).filename().string());
  }
  for (const std::string& user : NamesInFolder(root_ + "/uses")) {
    std::ifstream file(root_ + "/uses/" + user);
    for (std::string layer; std::getline(file, layer);) layers.insert(layer);
  }
  for (const std::string& digest : blobs_.List())
    if (!blobs.contains(digest)) blobs_.Remove(digest);
  for (const std::string& name : NamesInFolder(root_ + "/layers"))
    if (!layers.contains(name)) FLYBALL_TRY(RemoveFolder(root_ + "/layers/" + name));
  return {};
}

Status ImageStore::Use(const std::string& user, const StoredImage& image) {
  const Lock lock(root_);
  std::string text;
  for (const std::string& folder : image.layers) {
    if (access(folder.c_str(), F_OK) != 0)
      return Unexpected(Error(Reason::kNotFound, "image \"" + image.name + "\" has been removed"));
    text += fs::path(folder).filename().string() + "\n";
  }
  return WriteFileDurably(root_ + "/uses/" + user, text);
}

void ImageStore::Release(const std::string& user) {
  unlink((root_ + "/uses/" + user).c_str());
}

std::vector<std::string> ImageStore::Users() const {
  return NamesInFolder(root_ + "/uses");
}

}  // namespace flyball::node
