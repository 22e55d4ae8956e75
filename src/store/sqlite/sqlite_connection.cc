#include "store/sqlite/sqlite_connection.h"

#include <sqlite3.h>

namespace flyball::store {
namespace {

// Another process may hold the file for a moment while it recovers, or closes a snapshot it has taken.
constexpr int kBusyTimeoutMs = 5000;

const char* Advice(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full: make space, writes go on by themselves then";
    case SQLITE_CORRUPT:
      return "the file is corrupt: run `flyball store check`, then `flyball snapshot restore` with the last "
             "snapshot";
    case SQLITE_NOTADB:
      return "this is not a store: check the path; if it was one, `flyball snapshot restore` with the last "
             "snapshot";
    case SQLITE_READONLY:
      return "the file is not writable: check its owner and mode, and that the file system is not mounted "
             "read-only";
    case SQLITE_CANTOPEN:
      return "the file cannot be opened: check that its folder exists and that this user may read and write "
             "it";
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "this user may not read and write the file: check its owner and mode";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds the file: stop it first";
    case SQLITE_IOERR:
      return "the disk reports an error: check it and the system log";
    default:
      return nullptr;
  }
}

}  // namespace

Error SqliteCodeError(int code, const std::string& path, const std::string& message) {
  std::string text = "store " + path + ": ";
  if (const char* advice = Advice(code)) text += std::string(advice) + " ";
  text += "(SQLite: " + message + ", code " + std::to_string(code) + ")";
  return Error(Reason::kInternalError, std::move(text));
}

Error SqliteError(sqlite3* db) {
  const char* path = sqlite3_db_filename(db, "main");
  return SqliteCodeError(sqlite3_extended_errcode(db), path ? path : "", sqlite3_errmsg(db));
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::Bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
}

void SqliteStatement::BindText(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void SqliteStatement::BindBlob(int parameter, std::string_view bytes) {
  // A null pointer would bind NULL; an empty value is not a deletion.
  const char* data = bytes.data() ? bytes.data() : "";
  sqlite3_bind_blob64(statement_.get(), parameter, data, bytes.size(), SQLITE_STATIC);
}

void SqliteStatement::BindNull(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter);
}

Result<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Unexpected(SqliteError(sqlite3_db_handle(statement_.get())));
}

Status SqliteStatement::Run() {
  ResetOnExit reset(*this);
  FLYBALL_TRY(Step());
  return {};
}

void SqliteStatement::Reset() {
  if (statement_) sqlite3_reset(statement_.get());
}

std::int64_t SqliteStatement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  return {static_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void SqliteConnection::Close::operator()(sqlite3* db) const {
  sqlite3_close(db);
}

Result<SqliteConnection> SqliteConnection::Open(const std::string& path, Mode mode, const std::string& vfs) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_CREATE;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, vfs.empty() ? nullptr : vfs.c_str());
  SqliteConnection connection;
  connection.db_.reset(db);
  if (code != SQLITE_OK)
    return Unexpected(SqliteCodeError(code, path, db ? sqlite3_errmsg(db) : "out of memory"));
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  return connection;
}

Status SqliteConnection::ForbidCheckpoints() {
  if (sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr) != SQLITE_OK)
    return Unexpected(SqliteError(db_.get()));
  return Execute("PRAGMA wal_autocheckpoint = 0");
}

Status SqliteConnection::Execute(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return Unexpected(SqliteError(db_.get()));
  return {};
}

Result<SqliteStatement> SqliteConnection::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return Unexpected(SqliteError(db_.get()));
  SqliteStatement statement;
  statement.statement_.reset(raw);
  return statement;
}

Result<std::int64_t> SqliteConnection::QueryInt(std::string_view sql) {
  FLYBALL_ASSIGN(SqliteStatement statement, Prepare(sql));
  FLYBALL_ASSIGN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

Result<std::string> SqliteConnection::QueryText(std::string_view sql) {
  FLYBALL_ASSIGN(SqliteStatement statement, Prepare(sql));
  FLYBALL_ASSIGN(const bool row, statement.Step());
  return row ? std::string(statement.Text(0)) : std::string();
}

bool SqliteConnection::InTransaction() const {
  return sqlite3_get_autocommit(db_.get()) == 0;
}

}  // namespace flyball::store
