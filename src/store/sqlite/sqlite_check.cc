#include "store/sqlite/sqlite_check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "store/sqlite/sqlite_schema.h"

namespace flyball::store {
namespace {

// Replays the log and holds each row against what came before it.
class Verifier {
 public:
  explicit Verifier(const Meta& meta) : meta_(meta) {}

  // Empty: the row is right. Else what is wrong with it.
  std::string Visit(const LogRow& row) {
    if (RowSum(row) != row.sum) return "it is not what was written";
    if (row.key.empty()) return "it has no key";
    const Revision revision = RevisionOf(row.id);
    if (revision < 2) return "its revision is not one of a commit";
    if (row.previous >= row.id) return "it replaces a later version";
    const auto found = latest_.find(std::string(row.key));
    if (found != latest_.end() && found->second.id != row.previous)
      return "it does not replace the version before it";
    // Compaction deletes the version a row replaces, and nothing else.
    if (found == latest_.end() && row.previous != 0 && row.id > meta_.scrubbed)
      return "the version it replaces is missing";
    if (std::string wrong = CheckCreated(row, found == latest_.end() ? 0 : found->second.created);
        !wrong.empty())
      return wrong;
    if (row.deleted)
      latest_.erase(std::string(row.key));
    else
      latest_[std::string(row.key)] = {row.id, row.created};
    return {};
  }

 private:
  struct Version {
    LogId id;
    Revision created;
  };

  static std::string CheckCreated(const LogRow& row, Revision before) {
    if (row.deleted) return row.previous == 0 ? "it deletes what was not there" : "";
    if (row.previous == 0 && row.created != RevisionOf(row.id)) return "its creation is not its own revision";
    if (before != 0 && row.created != before) return "its creation differs from the version before it";
    return {};
  }

  const Meta meta_;
  std::unordered_map<std::string, Version> latest_;
};

Error Corrupt(const std::string& path, const std::string& what) {
  return Error(Reason::kInternalError, "store " + path + ": the file is corrupt: " + what +
                                           "; `flyball snapshot restore` with the last snapshot");
}

}  // namespace

Result<LogSummary> Summarize(SqliteConnection& connection) {
  FLYBALL_ASSIGN(const Meta meta, ReadMeta(connection));
  FLYBALL_ASSIGN(SqliteStatement rows,
                 connection.Prepare("SELECT id, key, value IS NULL FROM log ORDER BY id"));
  std::unordered_set<std::string> keys;
  LogId last = 0;
  for (;;) {
    FLYBALL_ASSIGN(const bool more, rows.Step());
    if (!more) break;
    last = rows.Int(0);
    if (rows.Int(2) != 0)
      keys.erase(std::string(rows.Text(1)));
    else
      keys.emplace(rows.Text(1));
  }
  return LogSummary{std::max({RevisionOf(last), meta.compacted, meta.floor}), meta.compacted, keys.size()};
}

Status VerifyFile(SqliteConnection& connection, const std::string& path) {
  FLYBALL_TRY(CheckFormat(connection, path));
  FLYBALL_ASSIGN(const std::string pages, connection.QueryText("PRAGMA integrity_check(1)"));
  if (pages != "ok") return Unexpected(Corrupt(path, pages));
  FLYBALL_ASSIGN(const Meta meta, ReadMeta(connection));
  FLYBALL_ASSIGN(SqliteStatement rows,
                 connection.Prepare("SELECT " FLYBALL_LOG_COLUMNS " FROM log ORDER BY id"));
  Verifier verifier(meta);
  for (;;) {
    FLYBALL_ASSIGN(const bool more, rows.Step());
    if (!more) return {};
    const LogRow row = ReadRow(rows);
    if (const std::string wrong = verifier.Visit(row); !wrong.empty()) {
      return Unexpected(Corrupt(path, "the change of \"" + std::string(row.key) + "\" at revision " +
                                          std::to_string(RevisionOf(row.id)) + ": " + wrong));
    }
  }
}

}  // namespace flyball::store
