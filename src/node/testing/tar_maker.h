// Archives for tests, hostile ones too: nothing is checked.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

namespace flyball::node {

class TarMaker {
 public:
  enum class Compression { kNone, kGzip, kZstd };
  explicit TarMaker(Compression compression = Compression::kNone)
      : archive_(archive_write_new()), buffer_(64 << 20, '\0') {
    archive_write_set_format_pax_restricted(archive_);
    if (compression == Compression::kGzip) archive_write_add_filter_gzip(archive_);
    if (compression == Compression::kZstd) archive_write_add_filter_zstd(archive_);
    archive_write_open_memory(archive_, buffer_.data(), buffer_.size(), &used_);
  }
  TarMaker(const TarMaker&) = delete;
  ~TarMaker() { archive_write_free(archive_); }

  TarMaker& File(const std::string& path, const std::string& content, mode_t mode = 0644, int uid = 0,
                 const std::vector<std::pair<std::string, std::string>>& xattrs = {}) {
    archive_entry* entry = New(path, S_IFREG, mode);
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_entry_set_uid(entry, uid);
    for (const auto& [name, value] : xattrs)
      archive_entry_xattr_add_entry(entry, name.c_str(), value.data(), value.size());
    return Write(entry, content);
  }
  TarMaker& Folder(const std::string& path, mode_t mode = 0755) { return Write(New(path, S_IFDIR, mode)); }
  TarMaker& Symlink(const std::string& path, const std::string& target) {
    archive_entry* entry = New(path, S_IFLNK, 0777);
    archive_entry_set_symlink(entry, target.c_str());
    return Write(entry);
  }
  TarMaker& HardLink(const std::string& path, const std::string& target) {
    archive_entry* entry = New(path, S_IFREG, 0644);
    archive_entry_set_hardlink(entry, target.c_str());
    return Write(entry);
  }
  TarMaker& Device(const std::string& path, mode_t type, unsigned major, unsigned minor) {
    archive_entry* entry = New(path, type, 0600);
    archive_entry_set_rdevmajor(entry, major);
    archive_entry_set_rdevminor(entry, minor);
    return Write(entry);
  }
  std::string Bytes() {
    archive_write_close(archive_);
    return buffer_.substr(0, used_);
  }

 private:
  static archive_entry* New(const std::string& path, mode_t type, mode_t mode) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, mode);
    archive_entry_set_mtime(entry, 1000, 0);
    return entry;
  }
  TarMaker& Write(archive_entry* entry, const std::string& content = {}) {
    archive_write_header(archive_, entry);
    if (!content.empty()) archive_write_data(archive_, content.data(), content.size());
    archive_entry_free(entry);
    return *this;
  }

  archive* archive_;
  std::string buffer_;
  std::size_t used_ = 0;
};

}  // namespace flyball::node
