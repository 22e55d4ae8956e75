// SqliteLog: the writer's side of a store's file: append, recover, compact, checkpoint.
//
// Confined to one thread at a time (the committer).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "store/log/sequencer.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_schema.h"

namespace flyball::store {

class SqliteLog {
 public:
  // Opens or makes the file. The caller holds its FileLock. Without `sync` nothing is forced to disk.
  static Result<std::unique_ptr<SqliteLog>> Open(const std::string& path, const std::string& vfs,
                                                 int checkpoint_pages, bool sync = true);

  // If the write-ahead log can be moved into the file wholly, the file says that it was closed in order.
  ~SqliteLog();

  // Calls `visit` for every row after `after`, oldest first, each verified.
  Status Replay(LogId after, const std::function<void(const LogRow&)>& visit);
  const Meta& meta() const { return meta_; }

  // Makes the decisions' changes durable, all or none. After an error it is not known which, until Settle.
  Status Append(const std::vector<const Decision*>& decisions);
  // After an error: makes the file writable again if it can, and the outcome of what failed certain. Answers
  // the last revision that is durable.
  Result<Revision> Settle();

  // Remembers that history before `revision` is gone. Its rows are deleted by Scrub.
  Status SetCompacted(Revision revision);
  bool NeedsScrub() const { return meta_.scrubbed < LastLogId(meta_.compacted); }
  // Looks at `max_rows` rows and deletes those that compaction has made superfluous, in one transaction.
  Status Scrub(std::size_t max_rows);

  // True when so much has been written since the last checkpoint that it is time for one.
  bool WantsCheckpoint() const;
  // Moves pages from the write-ahead log to the file. It never waits for a reader; what it cannot move it
  // leaves.
  Status Checkpoint();

  // What keys and history take in the file; free pages are not counted.
  Result<std::int64_t> UsedBytes();

  // Transactions that were made durable; each costs one fsync of the write-ahead log.
  std::uint64_t syncs() const { return syncs_; }

 private:
  SqliteLog(std::string path, SqliteConnection connection, int checkpoint_pages);
  Status PrepareStatements();
  // Makes the file itself say that it is in use.
  Status MarkInUse();
  void NoteWalPages(int pages);
  Status AppendOne(const Change& change);
  // Runs `body` between BEGIN and COMMIT.
  Status InTransaction(const std::function<Status()>& body);
  Status SetMeta(std::string_view name, std::int64_t value);
  Status DeleteRow(LogId id);

  const std::string path_;
  const int checkpoint_pages_;
  SqliteConnection connection_;
  SqliteStatement begin_, commit_, rollback_, insert_, delete_, set_meta_, scrub_scan_, used_pages_;
  std::int64_t page_size_ = 0;
  Meta meta_;
  int wal_pages_ = 0;           // in the write-ahead log after the last commit
  int checkpointed_pages_ = 0;  // of those, how many there were at the last checkpoint
  bool in_use_ = false;         // the file says so
  std::uint64_t syncs_ = 0;
  std::int64_t barrier_ = 0;
};

}  // namespace flyball::store
