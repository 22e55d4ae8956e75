#include "cli/kubectl/streams/tar_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = 64 * 1024;

struct FreeWriter {
  void operator()(archive* a) const { archive_write_free(a); }
};
struct FreeReader {
  void operator()(archive* a) const { archive_read_free(a); }
};
struct FreeEntry {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};

Error ArchiveError(archive* a, const std::string& what) {
  const char* text = archive_error_string(a);
  return BadRequest(what + ": " + (text ? text : "unknown"));
}

// --- writing ---

Status CopyIntoTar(archive* out, const fs::path& source) {
  std::ifstream in(source, std::ios::binary);
  if (!in) return Unexpected(BadRequest("cannot read " + source.string()));
  std::array<char, kChunk> buffer;
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0)
    if (archive_write_data(out, buffer.data(), static_cast<std::size_t>(in.gcount())) < 0)
      return Unexpected(ArchiveError(out, source.string()));
  return {};
}

Status AddToTar(archive* out, const fs::path& source, const std::string& name) {
  struct stat info {};
  if (::lstat(source.c_str(), &info) != 0) return Unexpected(BadRequest("cannot read " + source.string()));
  const bool folder = S_ISDIR(info.st_mode), file = S_ISREG(info.st_mode), link = S_ISLNK(info.st_mode);
  if (!folder && !file && !link) return {};  // sockets, devices: no content to copy
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_copy_stat(entry.get(), &info);
  archive_entry_set_pathname(entry.get(), name.c_str());
  if (link) archive_entry_set_symlink(entry.get(), fs::read_symlink(source).c_str());
  if (!file) archive_entry_set_size(entry.get(), 0);
  if (archive_write_header(out, entry.get()) != ARCHIVE_OK) return Unexpected(ArchiveError(out, name));
  if (file) return CopyIntoTar(out, source);
  if (!folder) return {};
  std::error_code ec;
  for (const auto& child : fs::directory_iterator(source, ec))
    FLYBALL_TRY(AddToTar(out, child.path(), name + "/" + child.path().filename().string()));
  return {};
}

// --- reading ---

// Where the entry goes; empty if it is not wanted.
fs::path TargetOf(const std::string& name, const std::string& prefix, const std::string& target) {
  const std::string clean = fs::path(name).lexically_normal().string();
  if (clean != prefix && !clean.starts_with(prefix + "/") && !prefix.empty()) return {};
  const fs::path rest = fs::path(clean).lexically_relative(prefix.empty() ? "." : prefix);
  if (rest.empty() || *rest.begin() == "..") return {};
  return rest == "." ? fs::path(target) : fs::path(target) / rest;
}

Status CopyOutOfTar(archive* in, const fs::path& path, mode_t mode) {
  std::error_code ec;
  fs::create_directories(path.parent_path(), ec);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
  if (file < 0) return Unexpected(BadRequest("cannot write " + path.string()));
  const int copied = archive_read_data_into_fd(in, file);
  const bool closed = ::close(file) == 0;
  if (copied != ARCHIVE_OK) return Unexpected(ArchiveError(in, path.string()));
  if (!closed) return Unexpected(BadRequest("cannot write " + path.string()));
  return {};
}

}  // namespace

Status WriteTar(int descriptor, const std::string& source, const std::string& name) {
  const std::unique_ptr<archive, FreeWriter> out(archive_write_new());
  archive_write_set_format_pax_restricted(out.get());
  if (archive_write_open_fd(out.get(), descriptor) != ARCHIVE_OK)
    return Unexpected(ArchiveError(out.get(), "cannot write the archive"));
  FLYBALL_TRY(AddToTar(out.get(), source, name));
  if (archive_write_close(out.get()) != ARCHIVE_OK)
    return Unexpected(ArchiveError(out.get(), "cannot write the archive"));
  return {};
}

Status ReadTar(int descriptor, const std::string& prefix, const std::string& target,
               const std::function<void(const std::string&, const std::string&)>& skipped) {
  const std::unique_ptr<archive, FreeReader> in(archive_read_new());
  archive_read_support_format_tar(in.get());
  archive_read_support_format_empty(in.get());
  if (archive_read_open_fd(in.get(), descriptor, kChunk) != ARCHIVE_OK)
    return Unexpected(ArchiveError(in.get(), "cannot read the archive"));
  archive_entry* entry = nullptr;
  for (;;) {
    const int next = archive_read_next_header(in.get(), &entry);
    if (next == ARCHIVE_EOF) return {};
    if (next != ARCHIVE_OK && next != ARCHIVE_WARN)
      return Unexpected(ArchiveError(in.get(), "the archive is damaged"));
    const std::string name = archive_entry_pathname(entry);
    const fs::path path = TargetOf(name, prefix, target);
    if (path.empty()) continue;
    const auto type = archive_entry_filetype(entry);
    std::error_code ec;
    if (type == AE_IFDIR)
      fs::create_directories(path, ec);
    else if (type == AE_IFREG && !archive_entry_hardlink(entry))
      FLYBALL_TRY(CopyOutOfTar(in.get(), path, archive_entry_mode(entry)));
    else if (type == AE_IFLNK)
      skipped(name, archive_entry_symlink(entry));
  }
}

}  // namespace flyball::cli
