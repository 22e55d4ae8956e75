#include "node/images/image_archive.h"

#include <map>

#include "json/json.h"
#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

constexpr std::int64_t kMaxArchiveFiles = 10'000;
constexpr std::string_view kBlobsPrefix = "blobs/sha256/";

struct ArchivedFile {
  std::string digest;
  std::int64_t size = 0;
};

std::string NormalPath(const std::vector<std::string>& components) {
  std::string path;
  for (const std::string& part : components) path += (path.empty() ? "" : "/") + part;
  return path;
}

// Where a symbolic link of the archive leads, within the archive.
Result<std::string> LinkTarget(const std::string& from, const std::string& link) {
  std::vector<std::string> parts;
  const std::string text = from.substr(0, from.rfind('/') + 1) + link;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    if (part == ".." && parts.empty())
      return Unexpected(BadRequest("link " + from + " leads out of the archive"));
    if (part == "..")
      parts.pop_back();
    else if (!part.empty() && part != ".")
      parts.push_back(part);
  }
  return NormalPath(parts);
}

class ArchiveLoader {
 public:
  explicit ArchiveLoader(ImageStore& store) : store_(store) {}

  Status ReadFiles(const std::string& path) {
    FLYBALL_ASSIGN(const auto archive, ArchiveReader::Open(path, store_.limits().max_bytes));
    for (std::int64_t count = 0;; ++count) {
      FLYBALL_ASSIGN(const auto entry, archive->Next());
      if (!entry) return {};
      if (count > kMaxArchiveFiles) return Unexpected(BadRequest("the archive has too many files"));
      FLYBALL_ASSIGN(const auto components, SafeComponents(entry->path));
      const std::string name = NormalPath(components);
      if (entry->type == ArchiveEntry::Type::kFile) FLYBALL_TRY(ReadContent(*archive, name));
      if (entry->type == ArchiveEntry::Type::kSymlink) {
        FLYBALL_ASSIGN(links_[name], LinkTarget(name, entry->link));
      }
    }
  }

  Result<std::vector<std::string>> AddImages(const std::string& name) {
    if (files_.contains("manifest.json")) return AddDockerImages(name);
    if (files_.contains("index.json")) return AddOciImages(name);
    return Unexpected(BadRequest("the archive is of no image: it has neither manifest.json nor index.json"));
  }

 private:
  Status ReadContent(ArchiveReader& archive, const std::string& name) {
    FLYBALL_ASSIGN(const auto writer, store_.blobs().New(store_.limits().max_bytes));
    for (;;) {
      FLYBALL_ASSIGN(const std::string_view data, archive.Read());
      if (data.empty()) break;
      FLYBALL_TRY(writer->Write(data));
    }
    ArchivedFile& file = files_[name];
    file.size = writer->size();
    // A file that is named by its digest has that digest.
    const bool named = name.starts_with(kBlobsPrefix);
    auto digest = writer->Commit(named ? "sha256:" + name.substr(kBlobsPrefix.size()) : "");
    if (!digest) return Unexpected(digest.error().Annotate(name));
    file.digest = *digest;
    return {};
  }

  Result<ArchivedFile> FileAt(const std::string& path) const {
    std::string at = path;
    if (const auto link = links_.find(at); link != links_.end()) at = link->second;
    const auto found = files_.find(at);
    if (found == files_.end()) return Unexpected(BadRequest("the archive has no file \"" + path + "\""));
    return found->second;
  }
  Result<std::string> TextAt(const std::string& path) const {
    FLYBALL_ASSIGN(const ArchivedFile file, FileAt(path));
    return store_.blobs().Read(file.digest, kMaxImageDocument);
  }

  Result<std::vector<std::string>> AddDockerImages(const std::string& name) {
    FLYBALL_ASSIGN(const std::string text, TextAt("manifest.json"));
    FLYBALL_ASSIGN(const json::Value document, json::Parse(text));
    if (!document.is_array() || document.as_array().empty())
      return Unexpected(BadRequest("manifest.json lists no images"));
    std::vector<std::string> added;
    for (const json::Value& item : document.as_array()) {
      ImageManifest manifest;
      FLYBALL_ASSIGN(manifest.config, DescriptorAt(item["Config"], kOciConfigType));
      if (const json::Value* layers = item.Find("Layers"); layers && layers->is_array())
        for (const json::Value& layer : layers->as_array()) {
          FLYBALL_ASSIGN(ContentDescriptor descriptor, DescriptorAt(layer, kOciLayerType));
          manifest.layers.push_back(std::move(descriptor));
        }
      std::vector<std::string> tags;
      if (const json::Value* listed = item.Find("RepoTags"); listed && listed->is_array())
        for (const json::Value& tag : listed->as_array()) tags.emplace_back(tag.string_or(""));
      FLYBALL_ASSIGN(const std::string digest, store_.blobs().Add(WriteImageManifest(manifest)));
      FLYBALL_TRY(AddImage(digest, std::move(tags), name, added));
    }
    return added;
  }

  Result<ContentDescriptor> DescriptorAt(const json::Value& path, const char* type) const {
    FLYBALL_ASSIGN(const ArchivedFile file, FileAt(std::string(path.string_or(""))));
    return ContentDescriptor{.media_type = type, .digest = file.digest, .size = file.size};
  }

  Result<std::vector<std::string>> AddOciImages(const std::string& name) {
    FLYBALL_ASSIGN(const std::string text, TextAt("index.json"));
    FLYBALL_ASSIGN(const auto images, ParseImageIndex(text));
    std::vector<std::string> added;
    for (const ContentDescriptor& image : images) {
      FLYBALL_ASSIGN(const std::string digest, ForThisMachine(image));
      std::vector<std::string> tags;
      for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"}) {
        const auto found = image.annotations.find(key);
        // A mere tag ("latest") names no image.
        const bool full =
            found != image.annotations.end() && found->second.find_first_of(":/@") != std::string::npos;
        if (tags.empty() && full) tags.push_back(found->second);
      }
      FLYBALL_TRY(AddImage(digest, std::move(tags), name, added));
    }
    if (added.empty()) return Unexpected(BadRequest("index.json lists no images"));
    return added;
  }

  // The manifest that a descriptor means: itself, or one of the index that it names.
  Result<std::string> ForThisMachine(const ContentDescriptor& image) const {
    FLYBALL_ASSIGN(const std::string text, store_.blobs().Read(image.digest, kMaxImageDocument));
    FLYBALL_ASSIGN(const json::Value document, json::Parse(text));
    if (!IsImageIndex(document)) return image.digest;
    FLYBALL_ASSIGN(const auto manifests, ParseImageIndex(text));
    FLYBALL_ASSIGN(const ContentDescriptor chosen, ChooseManifest(manifests));
    return chosen.digest;
  }

  Status AddImage(const std::string& digest, std::vector<std::string> tags, const std::string& name,
                  std::vector<std::string>& added) {
    if (tags.empty() && name.empty())
      return Unexpected(BadRequest("an image of the archive has no name: say one"));
    if (tags.empty()) tags.push_back(name);
    std::vector<std::string> names;
    for (const std::string& tag : tags) {
      auto reference = ImageReference::Parse(tag);
      if (!reference) return Unexpected(reference.error().Annotate("\"" + tag + "\""));
      names.push_back(reference->Name());
    }
    FLYBALL_TRY(store_.Add(digest, names));
    added.insert(added.end(), names.begin(), names.end());
    return {};
  }

  ImageStore& store_;
  std::map<std::string, ArchivedFile> files_;
  std::map<std::string, std::string> links_;
};

}  // namespace

Result<std::vector<std::string>> LoadImageArchive(ImageStore& store, const std::string& path,
                                                  const std::string& name) {
  Result<std::vector<std::string>> added = std::vector<std::string>();
  {
    const ImageWriting writing = store.BeginWriting();
    ArchiveLoader loader(store);
    if (const Status read = loader.ReadFiles(path); !read)
      added = Unexpected(read.error());
    else
      added = loader.AddImages(name);
  }
  // What the images do not need, or everything if they are refused.
  FLYBALL_TRY(store.CollectGarbage());
  return added;
}

}  // namespace flyball::node
