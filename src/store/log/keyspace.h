// Keyspace: the current keys and values in bytewise order, the in-memory half of every embedded engine. A
// range reader takes a Slice (base/leaf_map.h) and reads it without any lock.
//
// Thread-compatible: the owner guards it with a lock. A Slice may be used without the lock, on any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/values/leaf_map.h"
#include "store/store.h"

namespace flyball::store {

// Where a version of a key stands in the log: revision and position within the revision's transaction, in one
// number that grows with both. 0 is no version.
using LogId = std::int64_t;
inline constexpr int kLogIdSubBits = 16;
inline constexpr std::size_t kMaxOperations = std::size_t{1} << kLogIdSubBits;
inline LogId MakeLogId(Revision revision, std::size_t sub) {
  return (revision << kLogIdSubBits) | static_cast<LogId>(sub);
}
inline LogId LastLogId(Revision revision) {
  return MakeLogId(revision + 1, 0) - 1;
}
inline Revision RevisionOf(LogId id) {
  return id >> kLogIdSubBits;
}

struct Entry {
  std::string key;
  Bytes value;  // null: the engine has it in its file
  Revision created = 0;
  LogId id = 0;

  KeyValue ToKeyValue() const { return {key, value, created, RevisionOf(id)}; }
};

// The first key after all keys with the prefix; empty: there is none (every key from the prefix on has it).
std::string PrefixEnd(std::string_view prefix);

struct EntryOrder {
  using Key = std::string_view;
  Key KeyOf(const Entry& entry) const { return entry.key; }
  bool Less(Key a, Key b) const { return a < b; }
};

class Keyspace {
 public:
  // A run of consecutive entries as they were when it was taken; needs no lock.
  using Slice = LeafMap<Entry, EntryOrder>::Slice;

  // Valid until the next change.
  const Entry* Find(std::string_view key) const { return entries_.Find(key); }
  // Inserts, or replaces.
  void Put(Entry entry) { entries_.Put(std::move(entry)); }
  bool Erase(std::string_view key) { return entries_.Erase(key); }

  std::size_t size() const { return entries_.size(); }
  std::size_t Count(std::string_view prefix) const;
  // Keys with the prefix that are not before `start`, at most `limit` (0: all).
  Slice Read(std::string_view prefix, std::string_view start, std::size_t limit) const;

 private:
  LeafMap<Entry, EntryOrder> entries_;
};

}  // namespace flyball::store
