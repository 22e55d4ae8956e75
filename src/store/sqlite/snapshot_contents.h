// What a snapshot holds beside the store's own tables: files (certificates, keys), and a checksum over
// everything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_store.h"

namespace flyball::store {

// Adds the files, sealed if there is a passphrase, and then the checksum.
Status AddSnapshotContents(SqliteConnection& snapshot, const SnapshotOptions& options);
// Error if the content is not what the checksum says. Snapshots of earlier versions have none.
Status VerifySnapshotSum(SqliteConnection& snapshot, const std::string& path);
Result<std::vector<SnapshotFile>> ReadFiles(SqliteConnection& snapshot, const std::string& path,
                                            std::string_view passphrase);
struct SnapshotLabel {
  std::size_t files = 0;
  bool sealed = false;
  bool has_sum = false;
};
Result<SnapshotLabel> ReadLabel(SqliteConnection& snapshot);
// Makes a store out of a copy of a snapshot: what the functions above added is gone without a trace.
Status RemoveSnapshotContents(SqliteConnection& copy);

}  // namespace flyball::store
