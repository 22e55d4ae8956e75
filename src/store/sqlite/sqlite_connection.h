// SqliteConnection and SqliteStatement: as much of SQLite's C interface as the store uses, with our errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/values/bytes.h"
#include "base/values/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace flyball::store {

// A prepared statement. Reset by ResetOnExit (below) after each use. Thread-compatible.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Parameters count from 1. Bound bytes must stay as they are until Reset.
  void Bind(int parameter, std::int64_t value);
  void BindText(int parameter, std::string_view text);
  void BindBlob(int parameter, std::string_view bytes);
  void BindNull(int parameter);
  // True: there is a row. False: done.
  Result<bool> Step();
  // Step, for statements without rows; resets.
  Status Run();
  void Reset();

  // Columns count from 0; bytes are valid until the next Step or Reset.
  std::int64_t Int(int column) const;
  std::string_view Text(int column) const;
  bool IsNull(int column) const;

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Resets a statement when the scope is left: a statement that is not reset holds a read transaction.
class ResetOnExit {
 public:
  explicit ResetOnExit(SqliteStatement& statement) : statement_(statement) {}
  ~ResetOnExit() { statement_.Reset(); }
  ResetOnExit(const ResetOnExit&) = delete;
  ResetOnExit& operator=(const ResetOnExit&) = delete;

 private:
  SqliteStatement& statement_;
};

// Thread-compatible: one thread at a time.
class SqliteConnection {
 public:
  enum class Mode { kReadOnly, kReadWrite, kCreate };
  // `vfs`: the name of a registered SQLite VFS; empty: the default.
  static Result<SqliteConnection> Open(const std::string& path, Mode mode, const std::string& vfs = {});

  // For those who only read: no checkpoint, neither by the way nor when closing. One beside the writer's
  // would meet a defect of SQLite's (before 3.51.3) in which the two together can lose a transaction.
  Status ForbidCheckpoints();

  Status Execute(const std::string& sql);
  Result<SqliteStatement> Prepare(std::string_view sql);
  // The first column of the first row, as a number or text.
  Result<std::int64_t> QueryInt(std::string_view sql);
  Result<std::string> QueryText(std::string_view sql);
  // True while BEGIN is without its COMMIT or ROLLBACK.
  bool InTransaction() const;

  sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  std::unique_ptr<sqlite3, Close> db_;
};

// What SQLite's last failure on `db` means to us: which file, what happened, what to do about it.
Error SqliteError(sqlite3* db);
// The same for a result code without a connection.
Error SqliteCodeError(int code, const std::string& path, const std::string& message);

}  // namespace flyball::store
