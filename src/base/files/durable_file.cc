#include "base/files/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace flyball {
namespace {

// Closes the descriptor when the scope is left.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool Close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

Error FileError(std::string_view verb, const std::string& path) {
  const Reason reason = errno == ENOENT ? Reason::kNotFound : Reason::kInternalError;
  return Error(reason, "cannot " + std::string(verb) + " " + path + ": " + std::strerror(errno));
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// The path to write to: the target of a symbolic link, else the path itself.
std::string TargetOf(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_symlink(path, ec)) return path;
  const auto target = std::filesystem::weakly_canonical(path, ec);
  return ec ? path : target.string();
}

Status WriteAndSync(const std::string& path, std::string_view content, mode_t mode) {
  ::unlink(path.c_str());  // left by an interrupted attempt; its mode may differ
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) return Unexpected(FileError("write", path));
  // The umask reduces the mode given to open. A stricter mode than requested is fine, a wider one is not.
  if (!WriteAll(file.get(), content) || ::fsync(file.get()) != 0 || !file.Close()) {
    const Error error = FileError("write", path);
    ::unlink(path.c_str());
    return Unexpected(error);
  }
  return {};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Unexpected(FileError("read", path));
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unexpected(FileError("read", path));
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
  }
}

Status WriteFileDurably(const std::string& path, std::string_view content, mode_t mode) {
  const std::string target = TargetOf(path);
  const std::string temporary = target + ".tmp";
  FLYBALL_TRY(WriteAndSync(temporary, content, mode));
  if (::rename(temporary.c_str(), target.c_str()) != 0) {
    const Error error = FileError("write", target);
    ::unlink(temporary.c_str());
    return Unexpected(error);
  }
  return SyncFolderOf(target);
}

Status MakePrivateFolder(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return {};
  ec.clear();
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, ec);
  if (ec) return Unexpected(InternalError("cannot make the folder " + parent.string() + ": " + ec.message()));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return Unexpected(FileError("make the folder", path));
  return SyncFolderOf(path);
}

Status SyncFolder(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return Unexpected(FileError("open the folder", folder));
  if (::fsync(opened.get()) != 0) return Unexpected(FileError("sync the folder", folder));
  return {};
}

Status SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return SyncFolder(folder.empty() ? "." : folder);
}

}  // namespace flyball
