// What a store's file looks like, and opening one.
//
// One table, `log`: a row for every change, its id the revision and the position in the revision's
// transaction, so that every write is an append to one b-tree and there is no index to keep. A row names the
// id of the version it replaces; from that follow the state at any revision that has not been compacted, and
// what compaction may delete. `meta` holds `compacted` (history before it is gone), `scrubbed` (the id up to
// which rows have been looked at for versions they supersede), `floor` (revisions up to it have been given
// out, though no row may be left that says so) and `open` (a store has the file open: what it acknowledged
// may be in the write-ahead log alone, so a file that says so and has no such log has lost writes).
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"
#include "store/log/keyspace.h"
#include "store/sqlite/sqlite_connection.h"

namespace flyball::store {

inline constexpr int kFormat = 1;

// One row of the log. Views are valid until the statement that gave it steps on.
struct LogRow {
  LogId id = 0;
  std::string_view key;
  bool deleted = false;
  std::string_view value;
  Revision created = 0;  // of the key; 0 for a deletion
  LogId previous = 0;    // the version it replaces; 0: there was none
  std::int64_t expires_unix_ms = 0;
  std::int64_t sum = 0;
};
// The columns of a row, in the order ReadRow expects.
#define FLYBALL_LOG_COLUMNS "id, key, value, created, previous, expires, sum"
LogRow ReadRow(const SqliteStatement& statement);

// Guards a row's content against bits that rot between the pages' own structure. Not cryptographic.
std::int64_t RowSum(const LogRow& row);
// Error if the row is not what was written.
Status CheckRow(const LogRow& row, const std::string& path);

// Makes an empty file for its owner alone, unless there is one: stores and snapshots contain Secrets. No
// connection to it may be open in this process.
Status MakePrivateFile(const std::string& path);
// Makes the tables in an empty file; refuses a file of another program or of a newer format.
Status PrepareFile(SqliteConnection& connection, const std::string& path);
// The second half alone: the file must be a store already.
Status CheckFormat(SqliteConnection& connection, const std::string& path);

struct Meta {
  Revision compacted = 0;
  LogId scrubbed = 0;
  Revision floor = 0;
  bool open = false;
};
Result<Meta> ReadMeta(SqliteConnection& connection);

// For copies of a store: they are whole without a write-ahead log.
Status MarkClosed(SqliteConnection& connection);
// Whether there is a write-ahead log with anything in it beside the file.
bool HasWriteAheadLog(const std::string& path);
// What to say of a file that was in use and has none.
Error MissingLogError(const std::string& path);

// The right to be the one process that writes the store at `path`: a lock on the file `path`-lock, which the
// kernel gives back when the process ends, however it ends.
class FileLock {
 public:
  static Result<FileLock> Acquire(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace flyball::store
