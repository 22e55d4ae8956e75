// Snapshots and checks of a store's file: the operator's side of sqlite_store.h.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/files/durable_file.h"
#include "store/sqlite/snapshot_contents.h"
#include "store/sqlite/sqlite_check.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_log.h"
#include "store/sqlite/sqlite_schema.h"
#include "store/sqlite/sqlite_store.h"

namespace flyball::store {
namespace {

using Mode = SqliteConnection::Mode;

// A restored store goes on so far above the snapshot: no revision that was given out after the snapshot was
// taken comes again with another content. etcd's operators are told the same number.
constexpr Revision kRestoreGap = 1'000'000'000;

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Status MustExist(const std::string& path, const char* what) {
  if (Exists(path)) return {};
  return Unexpected(
      Error(Reason::kNotFound, std::string(what) + " " + path + " does not exist: check the path"));
}

Error SystemError(const std::string& what, const std::string& path) {
  return InternalError(what + " " + path + ": " + std::strerror(errno));
}

// Makes `to` appear with the content of `from`, durably, in one step.
Status MoveIntoPlace(const std::string& from, const std::string& to) {
  const int fd = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Unexpected(SystemError("cannot open", from));
  const bool synced = fsync(fd) == 0;
  close(fd);
  if (!synced) return Unexpected(SystemError("cannot write", from));
  if (std::rename(from.c_str(), to.c_str()) != 0) return Unexpected(SystemError("cannot make", to));
  return SyncFolderOf(to);
}

// A consistent copy without the free pages, in one read transaction: writers go on beside it.
Status CopyTo(SqliteConnection& source, const std::string& target) {
  std::remove(target.c_str());  // of an earlier attempt
  FLYBALL_TRY(MakePrivateFile(target));
  FLYBALL_ASSIGN(SqliteStatement copy, source.Prepare("VACUUM INTO ?"));
  copy.BindText(1, target);
  return copy.Run();
}

Status FinishSnapshot(const std::string& path, const SnapshotOptions& options) {
  FLYBALL_ASSIGN(SqliteConnection connection, SqliteConnection::Open(path, Mode::kReadWrite));
  FLYBALL_TRY(MarkClosed(connection));
  return AddSnapshotContents(connection, options);
}

Status VerifySnapshot(SqliteConnection& snapshot, const std::string& path) {
  FLYBALL_TRY(VerifyFile(snapshot, path));
  return VerifySnapshotSum(snapshot, path);
}

// Clients that saw revisions after the snapshot must not find them again with another content, and their
// watches must begin anew: everything before the gap counts as compacted.
Status SkipRevisions(const std::string& path) {
  FLYBALL_ASSIGN(SqliteConnection connection, SqliteConnection::Open(path, Mode::kReadWrite));
  FLYBALL_ASSIGN(const LogSummary summary, Summarize(connection));
  FLYBALL_TRY(RemoveSnapshotContents(connection));
  const std::string first = std::to_string(summary.revision + kRestoreGap);
  return connection.Execute("BEGIN IMMEDIATE; UPDATE meta SET value = " + first +
                            " WHERE name IN ('floor', 'compacted');"
                            "UPDATE meta SET value = 0 WHERE name = 'open'; COMMIT");
}

// Removes what an attempt has left, unless it has been moved into place.
class Leftover {
 public:
  explicit Leftover(std::string path) : path_(std::move(path)) {}
  ~Leftover() { std::remove(path_.c_str()); }
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;

 private:
  const std::string path_;
};

// Everything but the current state goes, at once.
Status ForgetHistory(SqliteLog& log, Revision revision) {
  FLYBALL_TRY(log.SetCompacted(revision));
  constexpr std::size_t kRowsAtOnce = 4096;
  while (log.NeedsScrub()) FLYBALL_TRY(log.Scrub(kRowsAtOnce));
  return {};
}

}  // namespace

Status SaveSnapshot(const std::string& path, const std::string& snapshot, const SnapshotOptions& options) {
  FLYBALL_TRY(MustExist(path, "store"));
  const std::string partial = snapshot + ".partial";
  const Leftover leftover(partial);
  {
    FLYBALL_ASSIGN(SqliteConnection source, SqliteConnection::Open(path, Mode::kReadWrite));
    FLYBALL_TRY(source.ForbidCheckpoints());
    FLYBALL_TRY(CheckFormat(source, path));
    FLYBALL_TRY(CopyTo(source, partial));
  }
  FLYBALL_TRY(FinishSnapshot(partial, options));
  FLYBALL_TRY(ReadSnapshotInfo(partial));
  return MoveIntoPlace(partial, snapshot);
}

Status CheckRestoreTarget(const std::string& path) {
  if (!Exists(path) && !Exists(path + "-wal")) return {};
  return Unexpected(
      Error(Reason::kAlreadyExists,
            "store " + path + " exists already: move it away first, or restore to another path"));
}

Status RestoreSnapshot(const std::string& snapshot, const std::string& path) {
  FLYBALL_TRY(MustExist(snapshot, "snapshot"));
  FLYBALL_TRY(CheckRestoreTarget(path));
  FLYBALL_ASSIGN(const FileLock lock, FileLock::Acquire(path));
  const std::string partial = path + ".partial";
  const Leftover leftover(partial);
  {
    FLYBALL_ASSIGN(SqliteConnection source, SqliteConnection::Open(snapshot, Mode::kReadOnly));
    FLYBALL_TRY(VerifySnapshot(source, snapshot));
    FLYBALL_TRY(CopyTo(source, partial));
  }
  FLYBALL_TRY(SkipRevisions(partial));
  return MoveIntoPlace(partial, path);
}

Result<SnapshotInfo> ReadSnapshotInfo(const std::string& snapshot) {
  FLYBALL_TRY(MustExist(snapshot, "snapshot"));
  FLYBALL_ASSIGN(SqliteConnection connection, SqliteConnection::Open(snapshot, Mode::kReadOnly));
  FLYBALL_TRY(CheckFormat(connection, snapshot));
  FLYBALL_TRY(VerifySnapshotSum(connection, snapshot));
  FLYBALL_ASSIGN(const LogSummary summary, Summarize(connection));
  FLYBALL_ASSIGN(const SnapshotLabel label, ReadLabel(connection));
  std::error_code ignored;
  return SnapshotInfo{summary.revision, summary.keys, std::filesystem::file_size(snapshot, ignored),
                      label.files,      label.sealed, label.has_sum};
}

Result<std::vector<SnapshotFile>> ReadSnapshotFiles(const std::string& snapshot,
                                                    std::string_view passphrase) {
  FLYBALL_TRY(MustExist(snapshot, "snapshot"));
  FLYBALL_ASSIGN(SqliteConnection connection, SqliteConnection::Open(snapshot, Mode::kReadOnly));
  FLYBALL_TRY(VerifySnapshot(connection, snapshot));
  return ReadFiles(connection, snapshot, passphrase);
}

Status InitStore(const std::string& path) {
  if (Exists(path) && std::filesystem::file_size(path) > 0)
    return Unexpected(Error(Reason::kAlreadyExists, "store " + path + " exists already"));
  FLYBALL_ASSIGN(const FileLock lock, FileLock::Acquire(path));
  FLYBALL_TRY(MakePrivateFile(path));
  FLYBALL_TRY(SqliteLog::Open(path, {}, SqliteOptions{}.checkpoint_pages));
  return SyncFolderOf(path);
}

Result<DefragResult> DefragStore(const std::string& path, const DefragOptions& options) {
  FLYBALL_TRY(MustExist(path, "store"));
  FLYBALL_ASSIGN(const FileLock lock, FileLock::Acquire(path));
  const auto size = [&] {
    std::error_code ignored;
    const auto bytes = std::filesystem::file_size(path, ignored);
    return ignored ? 0 : static_cast<std::size_t>(bytes);
  };
  DefragResult result;
  {
    // Takes over what a crash has left in the write-ahead log, and closes in order.
    FLYBALL_ASSIGN(auto log, SqliteLog::Open(path, {}, SqliteOptions{}.checkpoint_pages));
    FLYBALL_ASSIGN(SqliteConnection connection, SqliteConnection::Open(path, Mode::kReadWrite));
    if (options.forget_history) {
      FLYBALL_ASSIGN(const LogSummary summary, Summarize(connection));
      FLYBALL_TRY(ForgetHistory(*log, summary.revision));
    }
    FLYBALL_TRY(log->Checkpoint());
    log.reset();
    result.bytes_before = size();
    FLYBALL_TRY(connection.Execute("VACUUM"));
  }
  result.bytes_after = size();
  return result;
}

Status CheckStore(const std::string& path, const CheckOptions& options) {
  FLYBALL_TRY(MustExist(path, "store"));
  FLYBALL_ASSIGN(const FileLock lock, FileLock::Acquire(path));
  const bool has_log = HasWriteAheadLog(path);
  FLYBALL_ASSIGN(SqliteConnection connection, SqliteConnection::Open(path, Mode::kReadWrite));
  // A check leaves everything where it is, the write-ahead log too.
  FLYBALL_TRY(connection.ForbidCheckpoints());
  FLYBALL_TRY(VerifyFile(connection, path));
  FLYBALL_ASSIGN(const Meta meta, ReadMeta(connection));
  if (!meta.open || has_log) return {};
  if (!options.accept_missing_log) return Unexpected(MissingLogError(path));
  return MarkClosed(connection);
}

}  // namespace flyball::store
