#include "store/sqlite/snapshot_contents.h"

#include "crypto/digest.h"
#include "crypto/sealing.h"
#include "store/sqlite/sqlite_schema.h"

namespace flyball::store {
namespace {

constexpr std::size_t kSaltSize = 16;

Result<bool> HasContents(SqliteConnection& snapshot) {
  FLYBALL_ASSIGN(const std::int64_t tables,
                 snapshot.QueryInt("SELECT count(*) FROM sqlite_schema WHERE name = 'snapshot'"));
  return tables != 0;
}

Status PutProperty(SqliteConnection& snapshot, std::string_view name, std::string_view value) {
  FLYBALL_ASSIGN(SqliteStatement insert, snapshot.Prepare("INSERT INTO snapshot VALUES (?, ?)"));
  insert.BindText(1, name);
  insert.BindBlob(2, value);
  return insert.Run();
}

Result<std::string> GetProperty(SqliteConnection& snapshot, std::string_view name) {
  FLYBALL_ASSIGN(SqliteStatement select, snapshot.Prepare("SELECT value FROM snapshot WHERE name = ?"));
  select.BindText(1, name);
  FLYBALL_ASSIGN(const bool found, select.Step());
  return found ? std::string(select.Text(0)) : std::string();
}

Status PutFiles(SqliteConnection& snapshot, const std::vector<SnapshotFile>& files, const std::string& key) {
  FLYBALL_ASSIGN(SqliteStatement insert, snapshot.Prepare("INSERT INTO snapshot_files VALUES (?, ?)"));
  for (const SnapshotFile& file : files) {
    std::string content = file.content;
    if (!key.empty()) {
      FLYBALL_ASSIGN(content, crypto::SealAesGcm(key, file.content, file.name));
    }
    insert.BindText(1, file.name);
    insert.BindBlob(2, content);
    FLYBALL_TRY(insert.Run());
  }
  return {};
}

// Lengths before texts: no two contents give the same bytes.
void AddText(crypto::Sha256& sum, std::string_view text) {
  sum.Update(std::to_string(text.size()) + ":");
  sum.Update(text);
}

Status AddQuery(SqliteConnection& snapshot, crypto::Sha256& sum, std::string_view sql, int columns) {
  FLYBALL_ASSIGN(SqliteStatement rows, snapshot.Prepare(sql));
  for (;;) {
    FLYBALL_ASSIGN(const bool more, rows.Step());
    if (!more) return {};
    for (int i = 0; i < columns; ++i) AddText(sum, rows.IsNull(i) ? std::string_view("-") : rows.Text(i));
  }
}

Result<std::string> SumOf(SqliteConnection& snapshot) {
  crypto::Sha256 sum;
  // "value IS NULL": a deletion differs from the value "-".
  FLYBALL_TRY(
      AddQuery(snapshot, sum,
               "SELECT id, key, value IS NULL, value, created, previous, expires FROM log ORDER BY id", 7));
  FLYBALL_TRY(AddQuery(snapshot, sum, "SELECT name, value FROM meta ORDER BY name", 2));
  FLYBALL_TRY(AddQuery(snapshot, sum, "SELECT name, content FROM snapshot_files ORDER BY name", 2));
  FLYBALL_TRY(
      AddQuery(snapshot, sum, "SELECT name, value FROM snapshot WHERE name <> 'sum' ORDER BY name", 2));
  return sum.Finish();
}

Error WrongPassphrase(const std::string& path, std::string_view passphrase) {
  return BadRequest("snapshot " + path + ": its files are sealed: " +
                    (passphrase.empty() ? "give the passphrase it was saved with (--passphrase-file)"
                                        : "this is not the passphrase it was saved with"));
}

}  // namespace

Status AddSnapshotContents(SqliteConnection& snapshot, const SnapshotOptions& options) {
  FLYBALL_TRY(snapshot.Execute(
      "CREATE TABLE snapshot (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE snapshot_files (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;"
      "BEGIN IMMEDIATE"));
  std::string key;
  if (!options.passphrase.empty()) {
    FLYBALL_ASSIGN(const std::string salt, crypto::RandomKey(kSaltSize));
    FLYBALL_ASSIGN(key, crypto::KeyFromPassphrase(options.passphrase, salt));
    FLYBALL_TRY(PutProperty(snapshot, "salt", salt));
  }
  FLYBALL_TRY(PutFiles(snapshot, options.files, key));
  FLYBALL_ASSIGN(const std::string sum, SumOf(snapshot));
  FLYBALL_TRY(PutProperty(snapshot, "sum", sum));
  return snapshot.Execute("COMMIT");
}

Status VerifySnapshotSum(SqliteConnection& snapshot, const std::string& path) {
  FLYBALL_ASSIGN(const bool has, HasContents(snapshot));
  if (!has) return {};
  FLYBALL_ASSIGN(const std::string expected, GetProperty(snapshot, "sum"));
  FLYBALL_ASSIGN(const std::string found, SumOf(snapshot));
  if (found == expected) return {};
  return Unexpected(InternalError("snapshot " + path +
                                  ": its content does not match its checksum: it was damaged or changed; use "
                                  "another snapshot"));
}

Result<std::vector<SnapshotFile>> ReadFiles(SqliteConnection& snapshot, const std::string& path,
                                            std::string_view passphrase) {
  std::vector<SnapshotFile> files;
  FLYBALL_ASSIGN(const bool has, HasContents(snapshot));
  if (!has) return files;
  FLYBALL_ASSIGN(const std::string salt, GetProperty(snapshot, "salt"));
  std::string key;
  if (!salt.empty()) {
    if (passphrase.empty()) return Unexpected(WrongPassphrase(path, passphrase));
    FLYBALL_ASSIGN(key, crypto::KeyFromPassphrase(passphrase, salt));
  }
  FLYBALL_ASSIGN(SqliteStatement rows,
                 snapshot.Prepare("SELECT name, content FROM snapshot_files ORDER BY name"));
  for (;;) {
    FLYBALL_ASSIGN(const bool more, rows.Step());
    if (!more) return files;
    SnapshotFile file{std::string(rows.Text(0)), std::string(rows.Text(1))};
    if (!key.empty()) {
      auto content = crypto::OpenAesGcm(key, file.content, file.name);
      if (!content) return Unexpected(WrongPassphrase(path, passphrase));
      file.content = std::move(*content);
    }
    files.push_back(std::move(file));
  }
}

Result<SnapshotLabel> ReadLabel(SqliteConnection& snapshot) {
  SnapshotLabel label;
  FLYBALL_ASSIGN(label.has_sum, HasContents(snapshot));
  if (!label.has_sum) return label;
  FLYBALL_ASSIGN(const std::int64_t files, snapshot.QueryInt("SELECT count(*) FROM snapshot_files"));
  label.files = static_cast<std::size_t>(files);
  FLYBALL_ASSIGN(const std::string salt, GetProperty(snapshot, "salt"));
  label.sealed = !salt.empty();
  return label;
}

Status RemoveSnapshotContents(SqliteConnection& copy) {
  // Keys must not stay behind in free pages.
  return copy.Execute(
      "PRAGMA secure_delete = ON; DROP TABLE IF EXISTS snapshot; DROP TABLE IF EXISTS snapshot_files; "
      "VACUUM");
}

}  // namespace flyball::store
