#include "store/sqlite/sqlite_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace flyball::store {

SqliteLog::SqliteLog(std::string path, SqliteConnection connection, int checkpoint_pages)
    : path_(std::move(path)), checkpoint_pages_(checkpoint_pages), connection_(std::move(connection)) {
  sqlite3_wal_hook(
      connection_.handle(),
      [](void* log, sqlite3*, const char*, int pages) {
        static_cast<SqliteLog*>(log)->NoteWalPages(pages);
        return SQLITE_OK;
      },
      this);
}

SqliteLog::~SqliteLog() {
  sqlite3* const db = connection_.handle();
  sqlite3_busy_timeout(db, 0);  // a reader in another process (a snapshot) is not waited for
  const bool moved =
      in_use_ && InTransaction([&] { return SetMeta("open", 0); }).has_value() &&
      sqlite3_wal_checkpoint_v2(db, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) == SQLITE_OK;
  // Then the write-ahead log stays: the file still says that it needs it.
  if (!moved) sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void SqliteLog::NoteWalPages(int pages) {
  wal_pages_ = pages;
  if (pages < checkpointed_pages_) checkpointed_pages_ = 0;  // begun again from its start
}

Result<std::unique_ptr<SqliteLog>> SqliteLog::Open(const std::string& path, const std::string& vfs,
                                                   int checkpoint_pages, bool sync) {
  const bool has_log = HasWriteAheadLog(path);
  FLYBALL_ASSIGN(SqliteConnection connection,
                 SqliteConnection::Open(path, SqliteConnection::Mode::kCreate, vfs));
  // Checkpoints are ours to time; the automatic one is off as soon as there is a WAL hook.
  FLYBALL_ASSIGN(const std::string mode, connection.QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Unexpected(Error(Reason::kInternalError,
                            "store " + path +
                                ": this file system cannot hold a store: SQLite's write-ahead log needs "
                                "shared memory, which network file systems lack; use a local disk"));
  }
  FLYBALL_TRY(connection.Execute(std::string("PRAGMA temp_store = MEMORY; PRAGMA synchronous = ") +
                                 (sync ? "FULL" : "OFF")));
  FLYBALL_TRY(PrepareFile(connection, path));
  FLYBALL_ASSIGN(const Meta meta, ReadMeta(connection));
  if (meta.open && !has_log) {
    FLYBALL_TRY(connection.ForbidCheckpoints());  // leave everything as it was found
    return Unexpected(MissingLogError(path));
  }
  std::unique_ptr<SqliteLog> log(new SqliteLog(path, std::move(connection), checkpoint_pages));
  log->meta_ = meta;
  FLYBALL_TRY(log->PrepareStatements());
  // A full disk must not keep a store from opening; the first write tries again.
  static_cast<void>(log->MarkInUse());
  return log;
}

Status SqliteLog::MarkInUse() {
  FLYBALL_TRY(connection_.Execute("INSERT OR IGNORE INTO meta VALUES ('open', 0)"));
  FLYBALL_TRY(InTransaction([&] { return SetMeta("open", 1); }));
  FLYBALL_TRY(Checkpoint());
  in_use_ = true;
  return {};
}

Status SqliteLog::PrepareStatements() {
  FLYBALL_ASSIGN(begin_, connection_.Prepare("BEGIN IMMEDIATE"));
  FLYBALL_ASSIGN(commit_, connection_.Prepare("COMMIT"));
  FLYBALL_ASSIGN(rollback_, connection_.Prepare("ROLLBACK"));
  FLYBALL_ASSIGN(insert_,
                 connection_.Prepare("INSERT INTO log (" FLYBALL_LOG_COLUMNS ") VALUES (?,?,?,?,?,?,?)"));
  FLYBALL_ASSIGN(delete_, connection_.Prepare("DELETE FROM log WHERE id = ?"));
  FLYBALL_ASSIGN(set_meta_, connection_.Prepare("UPDATE meta SET value = ? WHERE name = ?"));
  FLYBALL_ASSIGN(used_pages_, connection_.Prepare("SELECT (SELECT page_count FROM pragma_page_count) -"
                                                  " (SELECT freelist_count FROM pragma_freelist_count)"));
  FLYBALL_ASSIGN(page_size_, connection_.QueryInt("PRAGMA page_size"));
  FLYBALL_ASSIGN(scrub_scan_, connection_.Prepare("SELECT id, previous, value IS NULL FROM log"
                                                  " WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"));
  return {};
}

Status SqliteLog::Replay(LogId after, const std::function<void(const LogRow&)>& visit) {
  FLYBALL_ASSIGN(SqliteStatement rows,
                 connection_.Prepare("SELECT " FLYBALL_LOG_COLUMNS " FROM log WHERE id > ? ORDER BY id"));
  rows.Bind(1, after);
  for (;;) {
    FLYBALL_ASSIGN(const bool more, rows.Step());
    if (!more) return {};
    const LogRow row = ReadRow(rows);
    FLYBALL_TRY(CheckRow(row, path_));
    visit(row);
  }
}

Status SqliteLog::InTransaction(const std::function<Status()>& body) {
  FLYBALL_TRY(begin_.Run());
  Status status = body();
  if (status) status = commit_.Run();
  if (!status) {
    // Some errors have rolled back already. If this fails too, the next BEGIN says so.
    if (connection_.InTransaction()) static_cast<void>(rollback_.Run());
    return status;
  }
  ++syncs_;
  return {};
}

Status SqliteLog::Append(const std::vector<const Decision*>& decisions) {
  if (!in_use_) FLYBALL_TRY(MarkInUse());
  return InTransaction([&]() -> Status {
    for (const Decision* decision : decisions)
      for (const Change& change : decision->changes) FLYBALL_TRY(AppendOne(change));
    return {};
  });
}

Status SqliteLog::AppendOne(const Change& change) {
  LogRow row;
  row.id = change.id;
  row.key = change.key;
  row.deleted = !change.value;
  if (change.value) row.value = *change.value;
  row.created = change.created;
  row.previous = change.previous_id;
  row.expires_unix_ms = change.expires_unix_ms;
  insert_.Bind(1, row.id);
  insert_.BindText(2, row.key);
  if (row.deleted)
    insert_.BindNull(3);
  else
    insert_.BindBlob(3, row.value);
  insert_.Bind(4, row.created);
  insert_.Bind(5, row.previous);
  insert_.Bind(6, row.expires_unix_ms);
  insert_.Bind(7, RowSum(row));
  return insert_.Run();
}

Result<Revision> SqliteLog::Settle() {
  if (connection_.InTransaction()) FLYBALL_TRY(rollback_.Run());
  // A commit whose fsync failed may lie in the write-ahead log and come back after a crash. This one, once
  // durable, stands in its place there.
  const auto barrier = [&] { return InTransaction([&] { return SetMeta("barrier", ++barrier_); }); };
  if (!barrier()) {
    // On a full disk there may yet be room in the file itself, and so in the write-ahead log.
    FLYBALL_TRY(Checkpoint());
    FLYBALL_TRY(barrier());
  }
  FLYBALL_ASSIGN(const std::int64_t last, connection_.QueryInt("SELECT max(id) FROM log"));
  return std::max({RevisionOf(last), meta_.compacted, meta_.floor});
}

Status SqliteLog::SetMeta(std::string_view name, std::int64_t value) {
  set_meta_.Bind(1, value);
  set_meta_.BindText(2, name);
  return set_meta_.Run();
}

Status SqliteLog::SetCompacted(Revision revision) {
  FLYBALL_TRY(InTransaction([&] { return SetMeta("compacted", revision); }));
  meta_.compacted = revision;
  return {};
}

Status SqliteLog::DeleteRow(LogId id) {
  delete_.Bind(1, id);
  return delete_.Run();
}

// A change up to the compacted revision makes the version it replaces superfluous, and itself if it is a
// deletion. Going on in the order of revisions keeps a replay right at every moment: no version is left whose
// deletion is gone.
Status SqliteLog::Scrub(std::size_t max_rows) {
  struct Row {
    LogId id, previous;
    bool deletion;
  };
  std::vector<Row> rows;
  {
    ResetOnExit reset(scrub_scan_);
    scrub_scan_.Bind(1, meta_.scrubbed);
    scrub_scan_.Bind(2, LastLogId(meta_.compacted));
    scrub_scan_.Bind(3, static_cast<std::int64_t>(max_rows));
    for (;;) {
      FLYBALL_ASSIGN(const bool more, scrub_scan_.Step());
      if (!more) break;
      rows.push_back({scrub_scan_.Int(0), scrub_scan_.Int(1), scrub_scan_.Int(2) != 0});
    }
  }
  const LogId scrubbed = rows.size() < max_rows ? LastLogId(meta_.compacted) : rows.back().id;
  const auto delete_rows = [&]() -> Status {
    for (const Row& row : rows) {
      if (row.previous != 0) FLYBALL_TRY(DeleteRow(row.previous));
      if (row.deletion) FLYBALL_TRY(DeleteRow(row.id));
    }
    return SetMeta("scrubbed", scrubbed);
  };
  FLYBALL_TRY(InTransaction(delete_rows));
  meta_.scrubbed = scrubbed;
  return {};
}

Result<std::int64_t> SqliteLog::UsedBytes() {
  ResetOnExit reset(used_pages_);
  FLYBALL_TRY(used_pages_.Step());
  return used_pages_.Int(0) * page_size_;
}

bool SqliteLog::WantsCheckpoint() const {
  return wal_pages_ - checkpointed_pages_ >= checkpoint_pages_;
}

Status SqliteLog::Checkpoint() {
  const int code =
      sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  checkpointed_pages_ = wal_pages_;
  if (code != SQLITE_OK && code != SQLITE_BUSY) return Unexpected(SqliteError(connection_.handle()));
  return {};
}

}  // namespace flyball::store
