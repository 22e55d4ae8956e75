#include "store/sqlite/sqlite_history.h"

#include <utility>

namespace flyball::store {
namespace {

// Rows read at a time for a watch that catches up: about a millisecond of the committer's time.
constexpr std::size_t kSliceRows = 256;
// Rows read in one transaction for a range in the past.
constexpr std::int64_t kScanRows = 4096;

KeyValue ToKeyValue(const LogRow& row) {
  KeyValue kv;
  kv.key = row.key;
  if (!row.deleted) kv.value = MakeBytes(std::string(row.value));
  kv.create_revision = row.created;
  kv.mod_revision = RevisionOf(row.id);
  return kv;
}

}  // namespace

Result<SqliteHistory::Reader*> SqliteHistory::Open() {
  if (reader_) return &*reader_;
  Reader reader;
  FLYBALL_ASSIGN(reader.connection, SqliteConnection::Open(path_, SqliteConnection::Mode::kReadWrite, vfs_));
  FLYBALL_TRY(reader.connection.ForbidCheckpoints());
  FLYBALL_ASSIGN(reader.rows, reader.connection.Prepare("SELECT " FLYBALL_LOG_COLUMNS
                                                        " FROM log WHERE id > ? AND id <= ? ORDER BY id"));
  FLYBALL_ASSIGN(reader.changes, reader.connection.Prepare("SELECT id, key, previous FROM log"
                                                           " WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"));
  FLYBALL_ASSIGN(reader.version,
                 reader.connection.Prepare("SELECT " FLYBALL_LOG_COLUMNS " FROM log WHERE id = ?"));
  reader_.emplace(std::move(reader));
  return &*reader_;
}

void SqliteHistory::Close() {
  MutexLock lock(mu_);
  reader_.reset();
}

Status SqliteHistory::CheckNotCompacted(Revision wanted) const {
  const Revision compacted = compacted_.load();
  if (wanted < compacted) return Unexpected(CompactedError(wanted, compacted));
  return {};
}

Result<std::optional<KeyValue>> SqliteHistory::Previous(Reader& reader, LogId id) {
  if (id == 0) return std::optional<KeyValue>();
  ResetOnExit reset(reader.version);
  reader.version.Bind(1, id);
  FLYBALL_ASSIGN(const bool found, reader.version.Step());
  if (!found) return std::optional<KeyValue>();  // compacted meanwhile: the caller checks
  const LogRow row = ReadRow(reader.version);
  FLYBALL_TRY(CheckRow(row, path_));
  return std::optional(ToKeyValue(row));
}

Result<EventSlice> SqliteHistory::ReadEvents(std::string_view prefix, Revision after, Revision up_to) {
  FLYBALL_TRY(CheckNotCompacted(after));
  MutexLock lock(mu_);
  FLYBALL_ASSIGN(Reader * reader, Open());
  EventSlice slice;
  slice.reached = after;
  ResetOnExit reset(reader->rows);
  reader->rows.Bind(1, LastLogId(after));
  reader->rows.Bind(2, LastLogId(up_to));
  for (std::size_t n = 0;; ++n) {
    FLYBALL_ASSIGN(const bool more, reader->rows.Step());
    if (!more) break;
    const LogRow row = ReadRow(reader->rows);
    if (n >= kSliceRows && RevisionOf(row.id) != slice.reached) {
      FLYBALL_TRY(CheckNotCompacted(after));
      return slice;
    }
    slice.reached = RevisionOf(row.id);
    if (!row.key.starts_with(prefix)) continue;
    FLYBALL_TRY(CheckRow(row, path_));
    Event event;
    event.type = row.deleted ? Event::Type::kDelete : Event::Type::kPut;
    event.kv = ToKeyValue(row);
    FLYBALL_ASSIGN(event.previous, Previous(*reader, row.previous));
    slice.events.push_back(std::move(event));
  }
  slice.reached = up_to;
  FLYBALL_TRY(CheckNotCompacted(after));
  return slice;
}

Result<PastVersions> SqliteHistory::ChangedSince(std::string_view prefix, std::string_view start,
                                                 Revision after, Revision up_to) {
  PastVersions changed;
  LogId last = LastLogId(after);
  for (bool more = true; more;) {
    MutexLock lock(mu_);
    FLYBALL_ASSIGN(Reader * reader, Open());
    ResetOnExit reset(reader->changes);
    reader->changes.Bind(1, last);
    reader->changes.Bind(2, LastLogId(up_to));
    reader->changes.Bind(3, kScanRows);
    for (std::int64_t n = 0;; ++n) {
      FLYBALL_ASSIGN(const bool row, reader->changes.Step());
      if (!row) {
        more = n == kScanRows;
        break;
      }
      last = reader->changes.Int(0);
      const std::string_view key = reader->changes.Text(1);
      if (!key.starts_with(prefix) || key < start || changed.contains(key)) continue;
      // The first change since then says what was there.
      changed.emplace(std::string(key), PastVersion{reader->changes.Int(2), std::nullopt});
    }
  }
  FLYBALL_TRY(CheckNotCompacted(after));
  return changed;
}

Result<KeyValue> SqliteHistory::Load(const std::string& key, LogId id, Revision wanted) {
  MutexLock lock(mu_);
  FLYBALL_ASSIGN(Reader * reader, Open());
  FLYBALL_ASSIGN(std::optional<KeyValue> kv, Previous(*reader, id));
  FLYBALL_TRY(CheckNotCompacted(wanted));
  if (!kv || kv->key != key)
    return Unexpected(InternalError("store " + path_ + ": the file is corrupt: a version of \"" + key +
                                    "\" is missing; run `flyball store check`"));
  return std::move(*kv);
}

}  // namespace flyball::store
