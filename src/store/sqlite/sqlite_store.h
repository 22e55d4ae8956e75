// The `sqlite` engine, the default: one file, WAL, synchronous=FULL, group commit.
//
// A commit is decided against memory, given its revision and queued; the committer thread writes all that is
// queued as one SQLite transaction, so that under load many commits share one fsync and a lone write pays
// one. Current keys and values are held in memory; history is read from the file.
#pragma once

#include <memory>
#include <string>

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
  std::string vfs{};  // name of a registered SQLite VFS (tests inject faults there); empty: the default
};

// Opens or makes the file. Errors say what to do: held by another process, newer format, corrupt, not
// writable. Timers run on `executor`, which must outlive the store.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options, Executor& executor);

struct SnapshotInfo {
  Revision revision = 0;
  std::size_t keys = 0;
  std::size_t bytes = 0;
};

// Copies the store at `path` to `snapshot`, consistently, also while a server has it open.
Status SaveSnapshot(const std::string& path, const std::string& snapshot);
// Makes a store at `path` from a snapshot. Refuses to overwrite an existing store. Revisions go on a thousand
// million above the snapshot's and all before that counts as compacted: clients that had seen what is lost
// begin anew.
Status RestoreSnapshot(const std::string& snapshot, const std::string& path);
Result<SnapshotInfo> ReadSnapshotInfo(const std::string& snapshot);
// Verifies the file's pages and our own invariants (revisions, keys, history). Requires that no server has it
// open.
Status CheckStore(const std::string& path);

}  // namespace flyball::store
