// SqliteHistory: reads the past from a store's file, on a connection of its own, beside the writer.
//
// Thread-safe: calls take turns. No read transaction is held from one slice to the next, so that the
// write-ahead log can be reused meanwhile; the compacted revision is looked at after reading, because rows go
// only after it has moved.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/run/mutex.h"
#include "store/log/history.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_schema.h"

namespace flyball::store {

class SqliteHistory final : public History {
 public:
  // Opens the file at the first read. `compacted` must outlive this.
  SqliteHistory(std::string path, std::string vfs, const std::atomic<Revision>& compacted)
      : path_(std::move(path)), vfs_(std::move(vfs)), compacted_(compacted) {}

  Result<EventSlice> ReadEvents(std::string_view prefix, Revision after, Revision up_to) override;

  // Keys under the prefix, from `start` on, that changed with after < revision <= up_to, and what they were
  // before.
  Result<PastVersions> ChangedSince(std::string_view prefix, std::string_view start, Revision after,
                                    Revision up_to);
  // The content of a version that ChangedSince(.., wanted, ..) has named.
  Result<KeyValue> Load(const std::string& key, LogId id, Revision wanted);
  // Closes the file; a later read opens it again.
  void Close();

 private:
  struct Reader {
    SqliteConnection connection;
    SqliteStatement rows, changes, version;
  };
  Result<Reader*> Open() FLYBALL_REQUIRES(mu_);
  // The version a change replaced; nullopt if it replaced none.
  Result<std::optional<KeyValue>> Previous(Reader& reader, LogId id) FLYBALL_REQUIRES(mu_);
  Status CheckNotCompacted(Revision wanted) const;

  const std::string path_, vfs_;
  const std::atomic<Revision>& compacted_;
  Mutex mu_;
  std::optional<Reader> reader_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::store
