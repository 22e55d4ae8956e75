// Store: a durable, revisioned key-value log with watches; etcd's semantics, behind one interface with
// several engines.
//
// Every successful commit gets its own revision: strictly increasing, never reused, also after a crash. What
// Commit's callback has acknowledged survives kill -9 and power loss (engines other than `memory`). Keys are
// in bytewise order. Values are opaque bytes, shared and never copied.
//
// Thread-safe, all methods.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/bytes.h"
#include "base/values/result.h"
#include "base/values/unique_function.h"

namespace flyball::store {

using Revision =
    std::int64_t;  // the first commit of an empty store has revision 2: 1 is the empty store, as in etcd

struct KeyValue {
  std::string key;
  Bytes value;
  Revision create_revision = 0;
  Revision mod_revision = 0;
};

// What must hold of a key for a commit to happen.
struct Precondition {
  enum class Kind : std::uint8_t { kAny, kAbsent, kModRevision, kPresent };
  Kind kind = Kind::kAny;
  Revision revision = 0;

  static Precondition Any() { return {}; }
  static Precondition Absent() { return {Kind::kAbsent, 0}; }
  static Precondition Present() { return {Kind::kPresent, 0}; }
  static Precondition ModRevision(Revision r) { return {Kind::kModRevision, r}; }
};

struct Operation {
  std::string key;
  Bytes value;  // null: delete
  Precondition precondition;
  Duration ttl{};  // zero: for ever. After it the key is deleted by an ordinary commit of the store's own.
};

// All operations of one transaction happen at one revision, or none.
using Transaction = std::vector<Operation>;

struct CommitOutcome {
  bool committed = false;
  Revision revision = 0;             // of the commit; of the store if not committed
  std::size_t failed_operation = 0;  // if not committed: the first operation whose precondition does not hold
  // Both without the value (null) if the key has a time to live: an engine may not have it at hand.
  std::optional<KeyValue> current;                // if not committed: that key as it is now (absent: nullopt)
  std::vector<std::optional<KeyValue>> previous;  // if committed: each operation's key before
};

struct RangeOptions {
  std::string start{};    // first key wanted (inclusive); empty: the prefix itself
  std::size_t limit = 0;  // 0: all
  Revision revision = 0;  // 0: now; else as of that revision (Expired if compacted, Timeout if in the future)
};

struct RangeResult {
  std::vector<KeyValue> items;  // in key order
  Revision revision = 0;        // the revision the answer is of
  bool more = false;            // limit cut it
  std::size_t remaining = 0;    // how many more there are after the limit, at that revision
};

struct Event {
  enum class Type : std::uint8_t { kPut, kDelete };
  Type type = Type::kPut;
  KeyValue kv;                       // for kDelete: key and mod_revision of the deletion, value null
  std::optional<KeyValue> previous;  // what was there before; its value as in CommitOutcome
};

// Receives a watch. Calls come one at a time, in revision order, on the store's delivery thread; it must not
// block and must not call back into the same Store's Watch or destructor.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // All events of one revision come in one call or in adjacent ones.
  virtual void OnEvents(const std::vector<Event>& events) = 0;
  // Everything up to and including `revision` has been delivered.
  virtual void OnProgress(Revision revision) = 0;
  // The watch is over; nothing more follows. Expired: the start revision was compacted.
  virtual void OnError(const Error& error) = 0;
};

// Destroying it ends the watch: it waits for a call to the sink that is running (unless it is done from
// within that call), and afterwards none begins. So it must not be destroyed under a lock that the sink
// takes.
class Watch {
 public:
  virtual ~Watch() = default;
};

struct StoreStats {
  Revision revision = 0;
  Revision compacted_revision = 0;
  std::size_t keys = 0;
  std::size_t bytes_on_disk = 0;
  std::size_t bytes_in_use = 0;  // without free pages; what the quota is held against
  std::size_t quota_bytes = 0;   // 0: no quota
  bool no_space = false;         // the quota's alarm is on: only deletions are taken
  std::uint64_t commits = 0;
  std::uint64_t syncs = 0;  // fsyncs of the log since start
};

class Store {
 public:
  virtual ~Store() = default;

  // The latest revision that is durable and that every live watch has seen: a cache fed by a sink is at least
  // as new. Get and Range may already show a newer one while sinks are being called.
  virtual Revision CurrentRevision() const = 0;
  // Latest committed state of one key, or nullopt.
  virtual Result<std::optional<KeyValue>> Get(std::string_view key) const = 0;
  virtual Result<RangeResult> Range(std::string_view prefix, const RangeOptions& options = {}) const = 0;
  // The number of keys with the prefix, now.
  virtual Result<std::size_t> Count(std::string_view prefix) const = 0;

  // Decides the transaction against the latest state and, if its preconditions hold, makes it durable. `done`
  // is called once: after every watch's sink has seen the events (so a cache fed by a sink already has them),
  // on a thread of the store's choosing; `memory` calls it before Commit returns. An Error means "not
  // committed, or not known": callers that retry must check. It must not block. A store that has reached its
  // size quota refuses transactions that put anything, with etcd's "mvcc: database space exceeded".
  virtual void Commit(Transaction transaction, UniqueFunction<void(Result<CommitOutcome>)> done) = 0;

  // Every change under the prefix with revision > `after`, exactly once, in order; then live. after = 0: from
  // now on. The sink must outlive the Watch. Errors (Expired) come through the sink.
  virtual std::unique_ptr<Watch> WatchPrefix(std::string prefix, Revision after, WatchSink* sink) = 0;

  // The store that has the keys with the prefix, which may be a part of this one (store/partition) with
  // revisions of its own. Revisions of keys can be compared only within it, and it alone is to be caught up
  // with before those keys are looked at. Lives as long as this store.
  virtual Store& PartOf(std::string_view /*prefix*/) { return *this; }

  // True: other processes write the same keys. What a watch has delivered may then be behind what they have
  // committed.
  virtual bool shared() const { return false; }
  // Calls `done` once every watch has seen all that was committed before this call, by whomever: a cache fed
  // by a sink is then as fresh as a read of the store. On a thread of the store's choosing, or at once; it
  // must not block. An error says why that cannot be known.
  virtual void CatchUp(UniqueFunction<void(Status)> done) { done({}); }

  // True: the value of the key is stored in another way than it would be now (encrypted with an older key, or
  // not at all), so that writing the same value again is worth it.
  virtual bool IsStale(std::string_view /*key*/) const { return false; }

  // Forgets history before `revision`; the current state stays. Watches that have passed it go on.
  virtual Status Compact(Revision revision) = 0;
  virtual Revision CompactedRevision() const = 0;

  // OK if the store can take a write now.
  virtual Status Health() const = 0;
  virtual StoreStats Stats() const = 0;
};

}  // namespace flyball::store
