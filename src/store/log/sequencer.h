// Sequencer: decides transactions against the latest state and gives them revisions.
//
// The latest state is the published keyspace plus what has been decided but is not yet published (being made
// durable). A decision is final only when Publish is called for it, in the order of decisions; Rewind gives
// up all that is not published.
//
// Thread-compatible: the owner guards it with a lock.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/values/result.h"
#include "store/log/keyspace.h"
#include "store/store.h"

namespace flyball::store {

// One key's change in a decided transaction.
struct Change {
  std::string key;
  Bytes value;  // null: deleted
  Revision created = 0;
  LogId id = 0;
  LogId previous_id = 0;
  std::size_t operation = 0;         // its index in the transaction
  std::int64_t expires_unix_ms = 0;  // 0: never
};

struct Decision {
  CommitOutcome outcome;
  std::vector<Change>
      changes;  // empty: nothing is to be made durable (a conflict, or only absent keys deleted)
};

// Refuses transactions that no engine takes: empty ones, empty keys, a key twice, too many operations.
Status CheckTransaction(const Transaction& transaction);

// The watch events of a decided transaction.
void AppendEvents(const Decision& decision, std::vector<Event>* events);

class Sequencer {
 public:
  // What becomes of the values of keys that have a time to live. They are many and read seldom: an engine
  // that has a file leaves them there.
  enum class ExpiringValues : std::uint8_t { kInMemory, kInFile };
  explicit Sequencer(ExpiringValues expiring = ExpiringValues::kInMemory) : expiring_(expiring) {}

  // Requires CheckTransaction. `now` is the wall clock, for times to live. The keys in the returned changes
  // are referred to until Publish or Rewind: the Change vector may be moved but its elements not changed.
  Decision Decide(Transaction transaction, TimePoint now);
  // Applies a decision to the keyspace; its keys and values move there. Decisions must come in their order.
  void Publish(Decision& decision);
  // Forgets every decision not yet published. Their revisions are not given out again.
  void Rewind() { pending_.clear(); }

  // For recovery: applies a change found in the log.
  void Restore(Change change);
  // For recovery: no later commit gets `revision` or an earlier one.
  void Advance(Revision revision);

  const Keyspace& keyspace() const { return keyspace_; }
  // The revision of the keyspace.
  Revision published() const { return published_; }

 private:
  struct Version {
    Bytes value;  // null: absent, or in the file
    Revision created = 0;
    LogId id = 0;  // 0: absent

    bool exists() const { return id != 0; }
  };

  Version Latest(std::string_view key) const;
  static bool Holds(const Precondition& precondition, const Version& version);
  void Remember(const Change& change);

  Keyspace keyspace_;
  // By key: the latest unpublished change of it. The key is a view into that change.
  std::unordered_map<std::string_view, const Change*> pending_;
  const ExpiringValues expiring_;
  Revision revision_ = 1;  // last given out
  Revision published_ = 1;
};

}  // namespace flyball::store
