// ObjectWriter: encodes objects and commits them to the store; the last hop of a write.
#pragma once

#include <memory>
#include <string>

#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/request/request_scope.h"
#include "store/store.h"

namespace flyball::server {

// What comes of a commit: it is done, the object is not as the precondition says, or what goes with it is
// not.
enum class Written : std::uint8_t { kYes, kObjectDiffers, kCompanionDiffers };

// Thread-safe.
class ObjectWriter {
 public:
  // Events live for `event_ttl`. `workers` may wait for a shared store; without them nobody asks it whether a
  // value is stale.
  ObjectWriter(store::Store& store, Duration event_ttl, Executor* workers)
      : store_(store), event_ttl_(event_ttl), workers_(workers) {}

  // The object as it is to be stored: in the storage version. `object` is left canonical.
  Task<Result<std::shared_ptr<StoredObject>>> Encode(RequestScope& scope, const ServedResource& resource,
                                                     json::Value& object, store::Revision revision);
  // Stores it; `companions` are written in the same transaction, or nothing is. If it is written, the object
  // has its revision, and the cache has it.
  Task<Result<Written>> Put(RequestScope& scope, const ServedResource& resource,
                            std::shared_ptr<StoredObject> object, store::Precondition precondition,
                            store::Transaction companions = {});
  // Takes away what `current` is, with its companions.
  Task<Result<store::CommitOutcome>> Erase(RequestScope& scope, const ServedResource& resource,
                                           const StoredObject& current, store::Transaction companions);
  // Whether the object is stored in another way than it would be now. May go on on a worker.
  Task<bool> IsStale(RequestScope& scope, std::string key);

 private:
  Task<Result<store::CommitOutcome>> Commit(RequestScope& scope, store::Operation operation,
                                            store::Transaction companions);
  // The cache expects the object while the commit is under way, and no longer.
  Task<Result<store::CommitOutcome>> CommitExpected(RequestScope& scope, const ServedResource& resource,
                                                    std::shared_ptr<StoredObject> object,
                                                    store::Operation put, store::Transaction companions);

  store::Store& store_;
  const Duration event_ttl_;
  Executor* const workers_;
};

}  // namespace flyball::server
