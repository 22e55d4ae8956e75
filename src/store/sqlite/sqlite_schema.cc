#include "store/sqlite/sqlite_schema.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace flyball::store {
namespace {

// "FLYB": tells file(1) and us that an SQLite file is a store.
constexpr std::int64_t kApplicationId = 0x464c5942;

std::uint64_t Mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

std::uint64_t MixBytes(std::uint64_t hash, std::string_view bytes) {
  hash = Mix(hash, bytes.size());
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), n);
    hash = Mix(hash, word);
    bytes.remove_prefix(n);
  }
  return hash;
}

Error FileError(const std::string& path, const std::string& what, int error) {
  return Error(Reason::kInternalError, "store " + path + ": " + what + " (" + std::strerror(error) + ")");
}

}  // namespace

LogRow ReadRow(const SqliteStatement& statement) {
  LogRow row;
  row.id = statement.Int(0);
  row.key = statement.Text(1);
  row.deleted = statement.IsNull(2);
  row.value = statement.Text(2);
  row.created = statement.Int(3);
  row.previous = statement.Int(4);
  row.expires_unix_ms = statement.Int(5);
  row.sum = statement.Int(6);
  return row;
}

std::int64_t RowSum(const LogRow& row) {
  std::uint64_t hash = Mix(row.deleted ? 1 : 2, static_cast<std::uint64_t>(row.id));
  hash = Mix(hash, static_cast<std::uint64_t>(row.created));
  hash = Mix(hash, static_cast<std::uint64_t>(row.previous));
  hash = Mix(hash, static_cast<std::uint64_t>(row.expires_unix_ms));
  hash = MixBytes(hash, row.key);
  hash = MixBytes(hash, row.value);
  return static_cast<std::int64_t>(hash);
}

Status CheckRow(const LogRow& row, const std::string& path) {
  if (row.sum == RowSum(row)) return {};
  return Unexpected(
      Error(Reason::kInternalError,
            "store " + path + ": the file is corrupt: the change of \"" + std::string(row.key) +
                "\" at revision " + std::to_string(RevisionOf(row.id)) +
                " is not what was written; run `flyball store check`, then `flyball snapshot restore` "
                "with the last snapshot"));
}

Status CheckFormat(SqliteConnection& connection, const std::string& path) {
  FLYBALL_ASSIGN(const std::int64_t application, connection.QueryInt("PRAGMA application_id"));
  FLYBALL_ASSIGN(const std::int64_t format, connection.QueryInt("PRAGMA user_version"));
  if (application != kApplicationId) {
    return Unexpected(
        Error(Reason::kInternalError, "store " + path +
                                          ": this is an SQLite file of another program, not a store: "
                                          "check the path, or move the file away"));
  }
  if (format > kFormat) {
    return Unexpected(Error(Reason::kInternalError,
                            "store " + path + ": its format " + std::to_string(format) +
                                " is newer than the format " + std::to_string(kFormat) +
                                " this program knows: run the flyball that wrote it, or a newer one"));
  }
  return {};
}

Status PrepareFile(SqliteConnection& connection, const std::string& path) {
  FLYBALL_ASSIGN(const std::int64_t tables, connection.QueryInt("SELECT count(*) FROM sqlite_schema"));
  FLYBALL_ASSIGN(const std::int64_t application, connection.QueryInt("PRAGMA application_id"));
  if (tables != 0 || application != 0) return CheckFormat(connection, path);
  // One transaction: after a crash in the middle the file is still empty.
  return connection.Execute(
      "BEGIN IMMEDIATE;"
      "CREATE TABLE log (id INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB, created INTEGER NOT NULL,"
      " previous INTEGER NOT NULL, expires INTEGER NOT NULL, sum INTEGER NOT NULL);"
      "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
      "INSERT INTO meta VALUES ('compacted', 0), ('floor', 1), ('barrier', 0), ('scrubbed', " +
      std::to_string(LastLogId(0)) + "), ('open', 0); PRAGMA application_id = " +
      std::to_string(kApplicationId) + "; PRAGMA user_version = " + std::to_string(kFormat) + "; COMMIT");
}

Status MakePrivateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Unexpected(FileError(path, "the file is not writable: check its owner and mode", errno));
  close(fd);
  return {};
}

Result<Meta> ReadMeta(SqliteConnection& connection) {
  const auto value = [&](const std::string& name) {
    return connection.QueryInt("SELECT value FROM meta WHERE name = '" + name + "'");
  };
  Meta meta;
  FLYBALL_ASSIGN(meta.compacted, value("compacted"));
  FLYBALL_ASSIGN(meta.scrubbed, value("scrubbed"));
  FLYBALL_ASSIGN(meta.floor, value("floor"));
  FLYBALL_ASSIGN(const std::int64_t open, value("open"));
  meta.open = open != 0;
  return meta;
}

Status MarkClosed(SqliteConnection& connection) {
  return connection.Execute("UPDATE meta SET value = 0 WHERE name = 'open'");
}

Error MissingLogError(const std::string& path) {
  return Error(Reason::kInternalError,
               "store " + path + ": its write-ahead log " + path +
                   "-wal is missing or empty, and with it the latest writes: the file was in use when it was "
                   "left or copied. Put that file back beside it, or `flyball snapshot restore` the last "
                   "snapshot; to go on without those writes, run `flyball store check "
                   "--accept-missing-log`");
}

bool HasWriteAheadLog(const std::string& path) {
  struct stat file {};
  return stat((path + "-wal").c_str(), &file) == 0 && file.st_size > 0;
}

Result<FileLock> FileLock::Acquire(const std::string& path) {
  const std::string name = path + "-lock";
  const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    const char* advice = errno == ENOENT
                             ? "its folder does not exist: make it first"
                             : "its folder is not writable: check its owner and mode, and that the file "
                               "system is not full or mounted read-only";
    return Unexpected(FileError(path, advice, errno));
  }
  FileLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    // For the message below, in another process.
    const std::string pid = std::to_string(getpid()) + "\n";
    if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
      // Only the message is poorer for it: a full disk must not keep a store from opening.
    }
    return lock;
  }
  if (errno != EWOULDBLOCK) return Unexpected(FileError(path, "cannot lock " + name, errno));
  char holder[32] = {};
  const ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
  std::string pid(holder, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return Unexpected(Error(Reason::kInternalError,
                          "store " + path + ": another process" + (pid.empty() ? "" : " (pid " + pid + ")") +
                              " holds it: stop that one, or give this one another path"));
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace flyball::store
