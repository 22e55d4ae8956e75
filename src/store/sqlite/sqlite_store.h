// The `sqlite` engine, the default: one file, WAL, synchronous=FULL, group commit.
//
// A commit is decided against memory, given its revision and queued; the committer thread writes all that is
// queued as one SQLite transaction, so that under load many commits share one fsync and a lone write pays
// one. Current keys and values are held in memory, but for the values of keys with a time to live (Events);
// those and history are read from the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/executor.h"
#include "store/store.h"

namespace flyball::store {

struct SqliteOptions {
  std::string path{};  // made if absent; its folder must exist
  Duration compaction_interval =
      std::chrono::minutes(5);  // history older than this goes; zero: only Compact() does it
  // Pages of 4 KB in the write-ahead log at which the committer moves them to the file. It is the only one
  // who does.
  int checkpoint_pages = 1024;
  // False: nothing is forced to disk. What was acknowledged survives the end of the process, but not of the
  // machine. For tests.
  bool sync = true;
  std::int64_t quota_bytes = 0;  // the most that keys and history may take; 0: no limit
  std::string vfs{};  // name of a registered SQLite VFS (tests inject faults there); empty: the default
};

// Opens or makes the file. Errors say what to do: held by another process, newer format, corrupt, not
// writable. Timers run on `executor`, which must outlive the store.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options, Executor& executor);

struct SnapshotInfo {
  Revision revision = 0;
  std::size_t keys = 0;
  std::size_t bytes = 0;
  std::size_t files = 0;
  bool sealed = false;    // the files need a passphrase
  bool verified = false;  // it has a checksum, and that is right
};

// A file that is kept with a snapshot.
struct SnapshotFile {
  std::string name;  // as the caller names it
  std::string content;
};
struct SnapshotOptions {
  std::vector<SnapshotFile> files;
  std::string passphrase;  // seals the files; empty: they are there to be read
};

// Copies the store at `path` to `snapshot`, consistently, also while a server has it open, with the files
// given and a checksum (SHA-256) over everything. The file is for its owner alone.
Status SaveSnapshot(const std::string& path, const std::string& snapshot,
                    const SnapshotOptions& options = {});
// The files kept with a snapshot, after verifying it.
Result<std::vector<SnapshotFile>> ReadSnapshotFiles(const std::string& snapshot,
                                                    std::string_view passphrase = {});
// Error if there is a store at `path` already.
Status CheckRestoreTarget(const std::string& path);
// Makes a store at `path` from a snapshot, without its files, after verifying it. Refuses to overwrite an
// existing store. Revisions go on a thousand million above the snapshot's and all before that counts as
// compacted: clients that had seen what is lost begin anew.
Status RestoreSnapshot(const std::string& snapshot, const std::string& path);
Result<SnapshotInfo> ReadSnapshotInfo(const std::string& snapshot);
// Verifies the file's pages and our own invariants (revisions, keys, history). Requires that no server has it
// open.
// Makes an empty store. Refuses an existing one.
Status InitStore(const std::string& path);

struct DefragResult {
  std::size_t bytes_before = 0, bytes_after = 0;
};
struct DefragOptions {
  bool forget_history = false;  // compact first: only the current state is left in the file
};
// Gives the free pages inside the file back to the file system. Requires that no server has it open. After a
// crash in the middle the store is as before.
Result<DefragResult> DefragStore(const std::string& path, const DefragOptions& options = {});

struct CheckOptions {
  bool accept_missing_log = false;  // go on without the writes of a write-ahead log that has been lost
};
Status CheckStore(const std::string& path, const CheckOptions& options = {});

}  // namespace flyball::store
