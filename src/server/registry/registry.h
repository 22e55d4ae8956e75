// Registry: the rules of creating, changing and deleting objects, the same for every kind (upstream:
// registry/generic and registry/rest). Reads go to the watch cache directly; writes are decided here and
// committed to the store.
//
// Flow of a write: decoded object → managed fields → admission (change) → metadata and kind rules →
// validation → admission (check) → storage version → commit with a precondition → the cache has it → answer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/run/random.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"
#include "server/registry/attempt.h"
#include "server/registry/object_writer.h"
#include "server/request/request_scope.h"
#include "store/store.h"

namespace flyball::server {

// State that must follow the life of a kind's objects (allocated addresses, ports): what it says is written
// in the same transaction as the object. If a precondition of that does not hold, somebody else was faster,
// and the write is decided again. Thread-safe.
class ObjectLifecycle {
 public:
  virtual ~ObjectLifecycle() = default;
  // May change the object (assign an address).
  virtual Result<store::Transaction> BeforeCreate(json::Value& object) = 0;
  virtual Result<store::Transaction> BeforeUpdate(json::Value& object, const json::Value& old) = 0;
  virtual Result<store::Transaction> BeforeDelete(const json::Value& object) = 0;
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_seconds;
  std::optional<std::string> uid, resource_version;  // preconditions
  std::optional<bool> orphan_dependents;
  std::optional<std::string> propagation_policy;
  bool dry_run = false;
  bool skip_admission = false;  // what leads to the deletion has been through it
  // Only objects that cannot be read from the store may be deleted so (upstream:
  // ignoreStoreReadErrorWithClusterBreakingPotential).
  bool unreadable_only = false;
};

struct CreateOptions {
  bool track_fields = true;  // false: managedFields are set already (apply)
  // Asked before validating admission whether the user may create at all, if the request itself was none.
  std::function<Task<Status>()> authorize{};
};

// An endpoint whose body is not the object itself, but a Scale: what admission sees.
struct AdmittedBody {
  // The body that stands for an object.
  std::function<json::Value(const json::Value& object)> from_object;
  // Carries over to the object what admission has changed in the body.
  std::function<void(const json::Value& body, json::Value& object)> to_object;
};

struct UpdateOptions {
  std::string subresource;                           // "" or e.g. "status"
  std::optional<AdmittedBody> body{};                // of subresources
  bool create_if_absent = false;                     // apply, and PUT for kinds that allow it
  std::function<Task<Status>()> authorize_create{};  // with create_if_absent: see CreateOptions
  bool conflict_retries = false;  // patches: try again on the newest object unless it names a version itself
  bool uid_precondition = false;  // PUT: a uid in the body must be the object's, else Conflict
  bool track_fields = true;       // false: the transform has set managedFields itself (apply)
  bool skip_admission = false;    // the server's own bookkeeping
  // Called before the transform, with the same object: for what the transform needs and has to be waited for.
  std::function<Task<Status>(const json::Value& current)> prepare{};
};

struct UpdateOutcome {
  ObjectPtr object;
  bool created = false;
};

struct DeleteOutcome {
  ObjectPtr object;      // as it was last, or as it is now if something still holds it
  bool removed = false;  // false: marked, waiting for grace or finalizers
};

// Thread-safe.
class Registry {
 public:
  // `workers` may wait for a shared store; without them nobody asks it whether a value is stale.
  Registry(store::Store& store, const AdmissionChain& admission, Random& random, Duration event_ttl,
           Executor* workers = nullptr);

  // `plural.group` of built-in resources. Before serving.
  void AddLifecycle(std::string group_resource, std::unique_ptr<ObjectLifecycle> lifecycle);

  // `object` is decoded and defaulted, in the version the resource is worked with (working_kind).
  Task<Result<ObjectPtr>> Create(RequestScope& scope, const ServedResource& resource, json::Value object,
                                 CreateOptions options = {});

  // Makes the next object from the current one (null if there is none and create_if_absent). Called again
  // with the newest object when a retry is allowed. It gets and gives the version the resource is worked
  // with.
  using Transform = std::function<Result<json::Value>(const json::Value& current)>;
  Task<Result<UpdateOutcome>> Update(RequestScope& scope, const ServedResource& resource,
                                     std::string_view namespace_name, std::string_view name,
                                     Transform transform, UpdateOptions options);

  Task<Result<DeleteOutcome>> Delete(RequestScope& scope, const ServedResource& resource,
                                     std::string_view namespace_name, std::string_view name,
                                     DeleteOptions options);

 private:
  // One try at an update: what is asked for, the object as it is, and as it is to be.
  struct UpdateAttempt {
    RequestScope& scope;
    const ServedResource& resource;
    const UpdateOptions& options;
    const Transform& transform;
    const std::string& name;
    const ObjectPtr current;      // null: there is none
    json::Value old{}, object{};  // in the version the resource is worked with
    // How often the update may be tried if somebody else changes the object meanwhile; 0: the user insists on
    // this version.
    int tries_if_modified = 0;
  };

  // Creates what admission has left. Retry: the name is taken.
  Task<Attempt<ObjectPtr>> TryCreate(AdmissionRequest& request, const CreateOptions& options);
  Task<Attempt<UpdateOutcome>> TryUpdate(UpdateAttempt& update);
  // For an object that is not there. Retry: by now it is.
  Task<Attempt<UpdateOutcome>> TryCreateAbsent(UpdateAttempt& update);
  // Whether it is the object that the user means, and its version; decides about retries.
  static Status CheckIdentity(UpdateAttempt& update);
  // Admission, the kind's rules and validation: from here on the new object is canonical.
  Task<Status> AdmitChange(UpdateAttempt& update);
  Task<Attempt<UpdateOutcome>> StoreChange(UpdateAttempt& update);
  // `ending`: set once the object is stored as ending and only its removal is left.
  Task<Attempt<DeleteOutcome>> TryDelete(RequestScope& scope, const ServedResource& resource,
                                         const ObjectPtr& current, const DeleteOptions& options,
                                         ObjectPtr& ending);
  static Status CheckDeletable(const ServedResource& resource, const StoredObject& current,
                               const DeleteOptions& options);
  // Takes the object out of the store. Retry, with so many tries: somebody has changed it meanwhile.
  Task<Attempt<ObjectPtr>> Remove(RequestScope& scope, const ServedResource& resource,
                                  const ObjectPtr& current, json::Value object, int tries);
  ObjectLifecycle* LifecycleOf(const ServedResource& resource) const;

  ObjectWriter writer_;
  const AdmissionChain& admission_;
  Random& random_;
  std::map<std::string, std::unique_ptr<ObjectLifecycle>, std::less<>> lifecycles_;
};

}  // namespace flyball::server
