// Keyspace: the current keys and values in bytewise order, the in-memory half of every embedded engine.
//
// Sorted leaves of up to kLeafEntries entries under one sorted array of leaves. A range reader takes
// references to the leaves it needs and reads them without any lock; a leaf that was handed out is never
// changed again (the next write to it copies it first), so readers and the writer do not wait for each other.
//
// Thread-compatible: the owner guards it with a lock. A Slice may be used without the lock, on any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
  Bytes value;
  Revision created = 0;
  LogId id = 0;

  KeyValue ToKeyValue() const { return {key, value, created, RevisionOf(id)}; }
};

// The first key after all keys with the prefix; empty: there is none (every key from the prefix on has it).
std::string PrefixEnd(std::string_view prefix);

class Keyspace {
 public:
  // 64 entries of 64 bytes: a leaf is one page, its copy and the shift at an insert cost well under a
  // microsecond.
  static constexpr std::size_t kLeafEntries = 64;

  struct Leaf {
    std::vector<Entry> entries;
    mutable bool handed_out = false;  // guarded by the owner's lock
  };

  // A run of consecutive entries as they were when it was taken.
  class Slice {
   public:
    std::size_t size() const { return size_; }
    std::size_t remaining() const { return remaining_; }
    template <typename Visit>
    void ForEach(Visit&& visit) const {
      std::size_t left = size_, at = first_;
      for (const auto& leaf : leaves_) {
        for (; at < leaf->entries.size() && left > 0; ++at, --left) visit(leaf->entries[at]);
        at = 0;
      }
    }

   private:
    friend class Keyspace;
    std::vector<std::shared_ptr<const Leaf>> leaves_;
    std::size_t first_ = 0, size_ = 0, remaining_ = 0;
  };

  // Valid until the next change.
  const Entry* Find(std::string_view key) const;
  // Inserts, or replaces all but the key.
  void Put(Entry entry);
  bool Erase(std::string_view key);

  std::size_t size() const { return size_; }
  std::size_t Count(std::string_view prefix) const;
  // Keys with the prefix that are not before `start`, at most `limit` (0: all).
  Slice Read(std::string_view prefix, std::string_view start, std::size_t limit) const;

 private:
  struct Position {
    std::size_t leaf = 0, entry = 0;
  };
  // Where `key` is, or would be inserted; `leaf` may be leaves_.size() only if there are no leaves.
  Position LowerBound(std::string_view key) const;
  // The same as a position in order: past the end of a leaf becomes the beginning of the next.
  Position Begin(std::string_view key) const;
  Position End(std::string_view prefix) const;
  std::size_t Distance(Position from, Position to) const;
  bool Matches(Position at, std::string_view key) const;
  Leaf& Writable(std::size_t leaf);
  Position Split(Position at);
  void MergeSmall(std::size_t leaf);

  std::vector<std::shared_ptr<Leaf>> leaves_;
  std::size_t size_ = 0;
};

}  // namespace flyball::store
