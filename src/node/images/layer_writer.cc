#include "node/images/layer_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

struct EntryDeleter {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using EntryPtr = std::unique_ptr<archive_entry, EntryDeleter>;

EntryPtr NewEntry(const std::string& target, mode_t type, mode_t mode) {
  EntryPtr entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), target.c_str());
  archive_entry_set_filetype(entry.get(), type);
  archive_entry_set_perm(entry.get(), mode & 07777);
  archive_entry_set_mtime(entry.get(), 0, 0);
  return entry;
}

Error SourceError(const std::string& path) {
  return BadRequest(path + ": " + std::strerror(errno));
}

}  // namespace

LayerArchive::LayerArchive(std::unique_ptr<BlobWriter> blob)
    : blob_(std::move(blob)), archive_(archive_write_new()) {
  archive_write_set_format_pax_restricted(archive_);
  archive_write_set_bytes_per_block(archive_, 0);
  const auto write = [](archive*, void* self, const void* data, std::size_t size) -> la_ssize_t {
    auto& layer = *static_cast<LayerArchive*>(self);
    layer.written_ = layer.blob_->Write({static_cast<const char*>(data), size});
    return layer.written_ ? static_cast<la_ssize_t>(size) : -1;
  };
  archive_write_open(archive_, this, nullptr, write, nullptr);
}

LayerArchive::~LayerArchive() {
  archive_write_free(archive_);
}

Result<std::unique_ptr<LayerArchive>> LayerArchive::New(const BlobStore& blobs, std::int64_t max_size) {
  FLYBALL_ASSIGN(auto blob, blobs.New(max_size));
  return std::unique_ptr<LayerArchive>(new LayerArchive(std::move(blob)));
}

Status LayerArchive::AddFolder(const std::string& target) {
  const EntryPtr entry = NewEntry(target, AE_IFDIR, 0755);
  if (archive_write_header(archive_, entry.get()) != ARCHIVE_OK)
    return Unexpected(InternalError("cannot write " + target));
  return {};
}

Status LayerArchive::AddTree(const std::string& source, const std::string& target) {
  struct stat info {};
  if (lstat(source.c_str(), &info) != 0) return Unexpected(SourceError(source));
  if (!target.empty()) FLYBALL_TRY(AddOne(source, target));
  if (!S_ISDIR(info.st_mode)) return {};
  std::set<std::string> names;  // in an order that does not depend on the file system
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(source, error))
    names.insert(entry.path().filename().string());
  if (error) return Unexpected(BadRequest(source + ": " + error.message()));
  for (const std::string& name : names)
    FLYBALL_TRY(AddTree(source + "/" + name, target.empty() ? name : target + "/" + name));
  return {};
}

Status LayerArchive::AddOne(const std::string& source, const std::string& target) {
  struct stat info {};
  if (lstat(source.c_str(), &info) != 0) return Unexpected(SourceError(source));
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode))
    return Unexpected(BadRequest(source + ": only files, folders and symbolic links can be copied"));
  const EntryPtr entry = NewEntry(target, info.st_mode & S_IFMT, info.st_mode);
  if (S_ISREG(info.st_mode)) archive_entry_set_size(entry.get(), info.st_size);
  if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    archive_entry_set_symlink(entry.get(), fs::read_symlink(source, error).c_str());
  }
  if (archive_write_header(archive_, entry.get()) != ARCHIVE_OK)
    return Unexpected(written_ ? InternalError(source + ": cannot be written into a layer")
                               : written_.error());
  return S_ISREG(info.st_mode) ? CopyContent(source, info.st_size) : Status();
}

Status LayerArchive::CopyContent(const std::string& source, std::int64_t size) {
  const OwnedFd file(open(source.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return Unexpected(SourceError(source));
  std::string buffer(128 << 10, '\0');
  while (size > 0) {
    const ssize_t n = read(file.get(), buffer.data(), buffer.size());
    if (n <= 0) return Unexpected(BadRequest(source + ": it changed while it was read"));
    if (archive_write_data(archive_, buffer.data(), static_cast<std::size_t>(n)) < 0)
      return Unexpected(written_ ? InternalError(source + ": cannot be written") : written_.error());
    size -= n;
  }
  return {};
}

Result<ContentDescriptor> LayerArchive::Finish() {
  if (archive_write_close(archive_) != ARCHIVE_OK)
    return Unexpected(written_ ? InternalError("the layer cannot be written") : written_.error());
  const std::int64_t size = blob_->size();
  FLYBALL_ASSIGN(const std::string digest, blob_->Commit());
  return ContentDescriptor{.media_type = kOciLayerType, .digest = digest, .size = size};
}

}  // namespace flyball::node
