// Verifying a store's file: SQLite's pages, and what our own rows say.
#pragma once

#include <cstddef>
#include <string>

#include "base/values/result.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/store.h"

namespace flyball::store {

struct LogSummary {
  Revision revision = 0;  // the last that was given out
  Revision compacted = 0;
  std::size_t keys = 0;
};

// Reads only what is needed to say it.
Result<LogSummary> Summarize(SqliteConnection& connection);
// Every page and every row. The error names the first thing that is wrong.
Status VerifyFile(SqliteConnection& connection, const std::string& path);

}  // namespace flyball::store
