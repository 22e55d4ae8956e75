#include "server/audit/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "api/values/time.h"
#include "base/files/durable_file.h"

namespace flyball::server {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;

Error LogError(const std::string& path) {
  return InternalError("cannot write the audit log " + path + ": " + std::strerror(errno));
}

// "2006-01-02T15-04-05.000": sorts by time.
std::string Stamp(TimePoint time) {
  std::string text = api::FormatMicroTime(time);  // 2006-01-02T15:04:05.000000Z
  text.resize(23);
  std::replace(text.begin(), text.end(), ':', '-');
  return text;
}

// "audit" and ".log" of "audit.log".
struct NameParts {
  std::filesystem::path folder;
  std::string start, extension;
};

NameParts PartsOf(const std::string& path) {
  const std::filesystem::path file(path);
  return {file.parent_path(), file.stem().string() + "-", file.extension().string()};
}

// The files that were moved aside, oldest first.
std::vector<std::string> BackupsOf(const std::string& path) {
  const NameParts parts = PartsOf(path);
  std::vector<std::string> names;
  std::error_code ec;
  const auto folder = parts.folder.empty() ? std::filesystem::path(".") : parts.folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ec)) {
    const std::string name = entry.path().filename().string();
    const std::size_t stamped = parts.start.size() + Stamp(TimePoint()).size() + parts.extension.size();
    if (name.size() == stamped && name.starts_with(parts.start) && name.ends_with(parts.extension))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::Open(const AuditLogOptions& options, const Clock& clock) {
  std::unique_ptr<AuditLog> log(new AuditLog(options, clock));
  if (options.path != "-") {
    const std::string folder = PartsOf(options.path).folder.string();
    const Status made = folder.empty() ? Status() : MakePrivateFolder(folder);
    if (!made)
      return Unexpected(
          InternalError("cannot write the audit log " + options.path + ": " + made.error().message()));
  }
  MutexLock lock(log->mu_);
  FLYBALL_TRY(log->OpenFile());
  return log;
}

AuditLog::~AuditLog() {
  MutexLock lock(mu_);
  if (fd_ >= 0) ::close(fd_);
}

Status AuditLog::OpenFile() {
  fd_ = options_.path == "-"
            ? ::dup(STDOUT_FILENO)
            : ::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kPrivateFileMode);
  if (fd_ < 0) return Unexpected(LogError(options_.path));
  struct stat info {};
  size_ = ::fstat(fd_, &info) == 0 ? info.st_size : 0;
  return {};
}

Status AuditLog::Append(std::string_view line) {
  std::string text(line);
  text += '\n';
  const auto length = static_cast<std::int64_t>(text.size());
  MutexLock lock(mu_);
  if (rotates() && size_ > 0 && size_ + length > options_.max_size_megabytes * kMegabyte)
    FLYBALL_TRY(Rotate());
  if (fd_ < 0) FLYBALL_TRY(OpenFile());
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Unexpected(LogError(options_.path));
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  size_ += length;
  return {};
}

Status AuditLog::Rotate() {
  ::close(std::exchange(fd_, -1));
  const NameParts parts = PartsOf(options_.path);
  const auto backup = parts.folder / (parts.start + Stamp(clock_.Now()) + parts.extension);
  if (::rename(options_.path.c_str(), backup.c_str()) != 0) return Unexpected(LogError(backup.string()));
  RemoveOld();
  return OpenFile();
}

void AuditLog::RemoveOld() const {
  const NameParts parts = PartsOf(options_.path);
  const auto names = BackupsOf(options_.path);
  const std::string oldest =
      parts.start + Stamp(clock_.Now() - std::chrono::hours(24) * options_.max_age_days) + parts.extension;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool too_many =
        options_.max_backups > 0 && names.size() - i > static_cast<std::size_t>(options_.max_backups);
    const bool too_old = options_.max_age_days > 0 && names[i] < oldest;
    std::error_code ignored;
    if (too_many || too_old) std::filesystem::remove(parts.folder / names[i], ignored);
  }
}

}  // namespace flyball::server
