#include "node/images/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <clocale>

#include "crypto/digest.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

constexpr std::size_t kReadBlock = 128 << 10;
constexpr std::size_t kMaxPath = 4096;
constexpr int kMaxXattrs = 64;
constexpr std::size_t kMaxXattr = 64 << 10;

Error ArchiveError(archive* of, const char* what) {
  const char* text = archive_error_string(of);
  return BadRequest(std::string(what) + ": " + (text ? text : "damaged archive"));
}

ArchiveEntry::Type TypeOf(archive_entry* entry) {
  using Type = ArchiveEntry::Type;
  if (archive_entry_hardlink(entry)) return Type::kHardLink;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return Type::kFile;
    case AE_IFDIR:
      return Type::kFolder;
    case AE_IFLNK:
      return Type::kSymlink;
    case AE_IFCHR:
      return Type::kCharDevice;
    case AE_IFBLK:
      return Type::kBlockDevice;
    case AE_IFIFO:
      return Type::kFifo;
    default:
      return Type::kOther;
  }
}

std::string TextOf(const char* text) {
  return text ? text : "";
}

Status ReadXattrs(archive_entry* from, ArchiveEntry& to) {
  if (archive_entry_xattr_reset(from) > kMaxXattrs)
    return Unexpected(BadRequest(to.path + ": too many extended attributes"));
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  while (archive_entry_xattr_next(from, &name, &value, &size) == ARCHIVE_OK) {
    if (size > kMaxXattr) return Unexpected(BadRequest(to.path + ": an extended attribute is too large"));
    to.xattrs.emplace_back(TextOf(name), std::string(static_cast<const char*>(value), size));
  }
  return {};
}

Result<ArchiveEntry> Convert(archive_entry* from) {
  ArchiveEntry to;
  to.type = TypeOf(from);
  to.path = TextOf(archive_entry_pathname(from));
  const bool hard = to.type == ArchiveEntry::Type::kHardLink;
  to.link = TextOf(hard ? archive_entry_hardlink(from) : archive_entry_symlink(from));
  if (to.path.size() > kMaxPath || to.link.size() > kMaxPath)
    return Unexpected(BadRequest("an entry's name is longer than " + std::to_string(kMaxPath) + " bytes"));
  to.mode = archive_entry_perm(from) & 07777;
  to.uid = static_cast<uid_t>(archive_entry_uid(from));
  to.gid = static_cast<gid_t>(archive_entry_gid(from));
  to.size = to.type == ArchiveEntry::Type::kFile ? archive_entry_size(from) : 0;
  to.mtime_seconds = archive_entry_mtime(from);
  to.mtime_nanos = archive_entry_mtime_nsec(from);
  to.device = makedev(static_cast<unsigned>(archive_entry_rdevmajor(from)),
                      static_cast<unsigned>(archive_entry_rdevminor(from)));
  FLYBALL_TRY(ReadXattrs(from, to));
  return to;
}

// libarchive converts names by the thread's locale, and gives up on what the "C" locale has not.
class Utf8Names {
 public:
  Utf8Names() : before_(uselocale(Locale())) {}
  Utf8Names(const Utf8Names&) = delete;
  ~Utf8Names() { uselocale(before_); }

 private:
  static locale_t Locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;
  }
  const locale_t before_;
};

}  // namespace

// Two readers, one after the other: the first takes the compression away, so that what it gives can be
// hashed; the second reads the entries.
struct ArchiveReader::State {
  archive* plain = archive_read_new();
  archive* entries = archive_read_new();
  crypto::Sha256 hash;
  std::int64_t bytes = 0;
  std::string block = std::string(kReadBlock, '\0');
  std::string content = std::string(kReadBlock, '\0');
  bool damaged = false;
  bool empty = false;  // no bytes at all
  std::string damage;

  const std::int64_t max_bytes;

  explicit State(std::int64_t most) : max_bytes(most) {}
  State(const State&) = delete;
  ~State() {
    archive_read_free(entries);
    archive_read_free(plain);
  }

  // Some uncompressed bytes; negative if they cannot be had.
  la_ssize_t Fill() {
    const la_ssize_t n = archive_read_data(plain, block.data(), block.size());
    if (n > 0) {
      hash.Update(std::string_view(block.data(), static_cast<std::size_t>(n)));
      bytes += n;
    }
    if (n < 0) return Fail(ArchiveError(plain, "cannot decompress").message());
    if (bytes > max_bytes)
      return Fail("the archive has more than the " + std::to_string(max_bytes) + " bytes it may have");
    return n;
  }
  la_ssize_t Fail(std::string why) {
    damaged = true;
    damage = std::move(why);
    return -1;
  }
  static la_ssize_t Feed(archive*, void* self, const void** buffer) {
    auto& state = *static_cast<State*>(self);
    *buffer = state.block.data();
    return state.Fill();
  }

  Status Begin(int opened) {
    if (opened != ARCHIVE_OK) return Unexpected(ArchiveError(plain, "cannot read archive"));
    archive_entry* whole = nullptr;
    const int first = archive_read_next_header(plain, &whole);
    empty = first == ARCHIVE_EOF;
    if (first != ARCHIVE_OK && !empty) return Unexpected(ArchiveError(plain, "cannot read archive"));
    archive_read_support_format_tar(entries);
    archive_read_support_format_empty(entries);
    if (!empty && archive_read_open(entries, this, nullptr, &Feed, nullptr) != ARCHIVE_OK)
      return Unexpected(ArchiveError(entries, "not a tar archive"));
    return {};
  }
  void Support() {
    archive_read_support_filter_gzip(plain);
    archive_read_support_filter_zstd(plain);
    archive_read_support_filter_xz(plain);
    archive_read_support_filter_bzip2(plain);
    archive_read_support_format_raw(plain);
    archive_read_support_format_empty(plain);
  }
};

ArchiveReader::ArchiveReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveReader::~ArchiveReader() = default;

Result<std::unique_ptr<ArchiveReader>> ArchiveReader::Open(const std::string& path, std::int64_t max_bytes) {
  if (access(path.c_str(), R_OK) != 0)
    return Unexpected(Error(Reason::kNotFound, path + ": no such file, or it cannot be read"));
  auto state = std::make_unique<State>(max_bytes);
  state->Support();
  FLYBALL_TRY(state->Begin(archive_read_open_filename(state->plain, path.c_str(), kReadBlock)));
  return std::unique_ptr<ArchiveReader>(new ArchiveReader(std::move(state)));
}

Result<std::unique_ptr<ArchiveReader>> ArchiveReader::OfBytes(std::string_view bytes,
                                                              std::int64_t max_bytes) {
  auto state = std::make_unique<State>(max_bytes);
  state->Support();
  FLYBALL_TRY(state->Begin(archive_read_open_memory(state->plain, bytes.data(), bytes.size())));
  return std::unique_ptr<ArchiveReader>(new ArchiveReader(std::move(state)));
}

Result<std::optional<ArchiveEntry>> ArchiveReader::Next() {
  if (state_->empty) return std::optional<ArchiveEntry>();
  const Utf8Names names;
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(state_->entries, &entry);
  if (state_->damaged) return Unexpected(BadRequest(state_->damage));
  if (status == ARCHIVE_EOF) return std::optional<ArchiveEntry>();
  // A warning is a part that was not understood: nothing is guessed.
  if (status != ARCHIVE_OK) return Unexpected(ArchiveError(state_->entries, "damaged archive"));
  FLYBALL_ASSIGN(ArchiveEntry converted, Convert(entry));
  return std::optional<ArchiveEntry>(std::move(converted));
}

Result<std::string_view> ArchiveReader::Read() {
  const la_ssize_t n = archive_read_data(state_->entries, state_->content.data(), state_->content.size());
  if (state_->damaged) return Unexpected(BadRequest(state_->damage));
  if (n < 0) return Unexpected(ArchiveError(state_->entries, "damaged archive"));
  return std::string_view(state_->content.data(), static_cast<std::size_t>(n));
}

Result<std::string> ArchiveReader::UncompressedDigest() {
  // What follows the last entry is part of the file too.
  la_ssize_t n = 1;
  while (!state_->empty && n > 0) n = state_->Fill();
  if (n < 0) return Unexpected(BadRequest(state_->damage));
  return "sha256:" + net::HexEncode(state_->hash.Finish());
}

}  // namespace flyball::node
