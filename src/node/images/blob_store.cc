#include "node/images/blob_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/files/durable_file.h"
#include "net/tls/pki.h"
#include "node/images/image_reference.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr char kBlobFolder[] = "/blobs/sha256";
constexpr char kIncomingFolder[] = "/incoming";
constexpr std::string_view kAlgorithm = "sha256:";

Error FileError(const std::string& path) {
  return InternalError(path + ": " + std::strerror(errno));
}

}  // namespace

std::string DigestOf(std::string_view bytes) {
  return std::string(kAlgorithm) + net::HexEncode(net::Sha256(bytes));
}

BlobWriter::~BlobWriter() {
  if (fd_ >= 0) close(fd_);
  if (!path_.empty()) unlink(path_.c_str());
}

Status BlobWriter::Write(std::string_view data) {
  size_ += static_cast<std::int64_t>(data.size());
  if (size_ > max_size_)
    return Unexpected(
        BadRequest("content is larger than the " + std::to_string(max_size_) + " bytes it may have"));
  hash_.Update(data);
  while (!data.empty()) {
    const ssize_t n = write(fd_, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unexpected(FileError(path_));
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::string> BlobWriter::Commit(const std::string& expected) {
  const std::string digest = std::string(kAlgorithm) + net::HexEncode(hash_.Finish());
  if (!expected.empty() && digest != expected)
    return Unexpected(BadRequest("content has digest " + digest + ", expected " + expected));
  if (fsync(fd_) != 0) return Unexpected(FileError(path_));
  const std::string path = store_.Path(digest);
  if (rename(path_.c_str(), path.c_str()) != 0) return Unexpected(FileError(path));
  path_.clear();
  FLYBALL_TRY(SyncFolderOf(path));
  return digest;
}

Result<BlobStore> BlobStore::Open(const std::string& root) {
  for (const std::string& folder : {root, root + kBlobFolder, root + kIncomingFolder})
    FLYBALL_TRY(MakePrivateFolder(folder));
  return BlobStore(root);
}

Result<std::unique_ptr<BlobWriter>> BlobStore::New(std::int64_t max_size) const {
  std::string path = root_ + kIncomingFolder + "/blob-XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return Unexpected(FileError(path));
  return std::unique_ptr<BlobWriter>(new BlobWriter(*this, path, fd, max_size));
}

Result<std::string> BlobStore::Add(std::string_view bytes) const {
  FLYBALL_ASSIGN(const auto writer, New(static_cast<std::int64_t>(bytes.size())));
  FLYBALL_TRY(writer->Write(bytes));
  return writer->Commit();
}

bool BlobStore::Has(const std::string& digest) const {
  return access(Path(digest).c_str(), F_OK) == 0;
}

std::string BlobStore::Path(const std::string& digest) const {
  return root_ + kBlobFolder + "/" + digest.substr(kAlgorithm.size());
}

Result<std::string> BlobStore::Read(const std::string& digest, std::int64_t max_size) const {
  struct stat info {};
  if (!IsDigest(digest) || stat(Path(digest).c_str(), &info) != 0)
    return Unexpected(Error(Reason::kNotFound, "content " + digest + " is not on this node"));
  if (info.st_size > max_size) return Unexpected(BadRequest("content " + digest + " is too large"));
  FLYBALL_ASSIGN(std::string bytes, ReadFile(Path(digest)));
  if (DigestOf(bytes) != digest)
    return Unexpected(BadRequest("content " + digest + " is damaged: its digest is " + DigestOf(bytes)));
  return bytes;
}

void BlobStore::Remove(const std::string& digest) const {
  unlink(Path(digest).c_str());
}

std::vector<std::string> BlobStore::List() const {
  std::vector<std::string> digests;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_ + kBlobFolder, error)) {
    std::string digest = std::string(kAlgorithm) + entry.path().filename().string();
    if (IsDigest(digest)) digests.push_back(std::move(digest));
  }
  return digests;
}

Result<std::string> BlobStore::NewFolder() const {
  std::string path = root_ + kIncomingFolder + "/folder-XXXXXX";
  if (!mkdtemp(path.data())) return Unexpected(FileError(path));
  return path;
}

}  // namespace flyball::node
