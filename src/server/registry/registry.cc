#include "server/registry/registry.h"

#include <algorithm>
#include <charconv>

#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "api/schema/disabled_fields.h"
#include "api/values/go_text.h"
#include "server/catalog/served_forms.h"
#include "server/registry/field_manager.h"
#include "server/registry/object_codec.h"
#include "server/registry/object_rules.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

// Patches that lose a race are made again on the newest object this often (upstream: patch.go).
constexpr int kMaxPatchTries = 5;
// Updates without a version are last-writer-wins: they try until they are that writer.
constexpr int kMaxUnconditionalTries = 100;
// So often allocations that somebody else has taken meanwhile are made anew.
constexpr int kMaxCompanionTries = 100;
// A generated name that is taken is drawn again (upstream: create retries).
constexpr int kMaxNameTries = 8;

std::string NameOf(const json::Value& object) {
  return std::string(object["metadata"]["name"].string_or(""));
}
std::string NamespaceOf(const json::Value& object) {
  return std::string(object["metadata"]["namespace"].string_or(""));
}

// The version an update insists on: 0 for none.
Result<store::Revision> WantedRevision(const json::Value& object) {
  const auto text = object["metadata"]["resourceVersion"].string_or("");
  if (text.empty()) return store::Revision{0};
  store::Revision revision = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (ec != std::errc() || end != text.data() + text.size() || revision < 0)
    return Unexpected(Error(Reason::kUnknown, 500,
                            "strconv.ParseUint: parsing \"" + std::string(text) + "\": invalid syntax"));
  return revision;
}

Error UidMismatch(const ServedResource& resource, const json::Value& object, const StoredObject& current,
                  bool dry_run) {
  // A dry run knows the key without the store's prefix.
  constexpr std::string_view kRegistry = "/registry";
  const std::string key = resource.Key(current.namespace_name(), current.name());
  return Conflict(
      *resource.kind, current.name(),
      "StorageError: invalid object, Code: 4, Key: " + (dry_run ? key.substr(kRegistry.size()) : key) +
          ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: " +
          std::string(object["metadata"]["uid"].string_or("")) + ", UID in object meta: " + current.uid());
}

Error MissingVersion(const ServedResource& resource, const json::Value& object) {
  api::FieldErrors errors;
  errors.Invalid(api::FieldPath("metadata.resourceVersion"), json::Value(0),
                 "must be specified for an update");
  // Upstream names the resource here, not the kind.
  return errors.ToError(resource.kind->group, resource.kind->plural, NameOf(object));
}

// Each once, also if the write is tried again. No more than would ever be sent (SendAnswer shortens them).
void AddWarnings(RequestScope& scope, std::vector<std::string> warnings) {
  constexpr std::size_t kMaxWarnings = 1000;
  for (auto& warning : warnings)
    if (scope.warnings.size() < kMaxWarnings &&
        std::find(scope.warnings.begin(), scope.warnings.end(), warning) == scope.warnings.end())
      scope.warnings.push_back(std::move(warning));
}

void AddOwnerWarning(RequestScope& scope, const std::string& repeated_uids, const std::string& when = "") {
  if (repeated_uids.empty()) return;
  AddWarnings(scope, {".metadata.ownerReferences contains duplicate entries" + when +
                      "; API server dedups owner "
                      "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
                      "requests; duplicate UID(s) observed: " +
                      repeated_uids});
}

std::vector<std::string> KindWarnings(const ServedResource& resource, const json::Value& object) {
  std::vector<std::string> warnings;
  if (!resource.custom && resource.hooks->warnings) resource.hooks->warnings(object, warnings);
  return warnings;
}

// Of a valid object, whatever becomes of it: a client whose write then conflicts is warned too.
void AddKindWarnings(RequestScope& scope, const ServedResource& resource, const json::Value& object) {
  AddWarnings(scope, KindWarnings(resource, object));
}

void AddCreateWarnings(RequestScope& scope, const ServedResource& resource, const json::Value& object) {
  const std::string_view why = resource.custom ? "" : resource.hooks->name_warning;
  const auto problems = why.empty() ? api::Problems() : api::DnsLabelProblems(NameOf(object));
  if (!problems.empty())
    AddWarnings(scope, {"metadata.name: " + std::string(why) +
                        "; a DNS label is recommended: " + api::GoList(problems)});
  AddKindWarnings(scope, resource, object);
}

void AddUpdateWarnings(RequestScope& scope, const ServedResource& resource, std::string_view subresource,
                       const json::Value& object, const json::Value& old) {
  using WarnOn = api::KindHooks::WarnOn;
  const auto on = resource.hooks->warn_on;
  if (!subresource.empty() || on == WarnOn::kCreate) return;
  if (on == WarnOn::kNews) {
    std::vector<std::string> news = KindWarnings(resource, object);
    const std::vector<std::string> known = KindWarnings(resource, old);
    std::erase_if(news, [&](const std::string& warning) { return std::ranges::count(known, warning) != 0; });
    return AddWarnings(scope, std::move(news));
  }
  if (on == WarnOn::kUpdate || !SameSpec(resource, object, old)) AddKindWarnings(scope, resource, object);
}

Error AllocationsMove(const ServedResource& resource) {
  return Error(Reason::kServerTimeout, "the allocations of " + resource.kind->GroupResource() +
                                           " change faster than this request could be stored; try again");
}

}  // namespace

Registry::Registry(store::Store& store, const AdmissionChain& admission, Random& random, Duration event_ttl,
                   Executor* workers)
    : writer_(store, event_ttl, workers), admission_(admission), random_(random) {}

void Registry::AddLifecycle(std::string group_resource, std::unique_ptr<ObjectLifecycle> lifecycle) {
  lifecycles_[std::move(group_resource)] = std::move(lifecycle);
}

ObjectLifecycle* Registry::LifecycleOf(const ServedResource& resource) const {
  if (resource.custom) return nullptr;
  const auto it = lifecycles_.find(resource.kind->GroupResource());
  return it == lifecycles_.end() ? nullptr : it->second.get();
}

Task<Result<ObjectPtr>> Registry::Create(RequestScope& scope, const ServedResource& resource,
                                         json::Value object, CreateOptions options) {
  AddOwnerWarning(scope, DropRepeatedOwners(object["metadata"]));
  const bool generated = NameOf(object).empty();
  FillInTimes(resource, {}, scope.now, object, nullptr);
  FLYBALL_CO_TRY(PrepareForCreate(scope, resource, object));
  if (options.track_fields) TrackFields(scope, resource, nullptr, object, {});
  AdmissionRequest request{
      AdmissionRequest::Operation::kCreate, scope, resource, {}, scope.info.namespace_name, {}, &object};
  const std::string name = NameOf(object);
  request.name = name;
  FLYBALL_CO_TRY(co_await admission_.Admit(request));
  AddOwnerWarning(scope, DropRepeatedOwners(object["metadata"]), " after mutating admission happens");
  FLYBALL_CO_TRY(PrepareForCreate(scope, resource, object));  // admission may not move it elsewhere
  FillSystemFields(scope, resource, random_, object);

  // A name that is taken is replaced by another one. Other fields may hold it by then (the labels of a Job),
  // so everything from here on is done again.
  const json::Value admitted = generated ? object : json::Value();
  for (int attempt = 1;; ++attempt) {
    auto tried = co_await TryCreate(request, options);
    const std::string prefix(object["metadata"]["generateName"].string_or(""));
    if (!generated || !tried.CanRetry(attempt)) {
      auto created = std::move(tried).Outcome();
      // As upstream, also of a name that was given beside generateName.
      if (!created && created.error().Is(Reason::kAlreadyExists) && !prefix.empty())
        co_return Unexpected(GeneratedNameTaken(*resource.kind, NameOf(object)));
      co_return created;
    }
    object = admitted;
    object["metadata"]["name"] = prefix + random_.NameSuffix();
  }
}

Task<Attempt<ObjectPtr>> Registry::TryCreate(AdmissionRequest& request, const CreateOptions& options) {
  RequestScope& scope = request.scope;
  const ServedResource& resource = request.resource;
  json::Value& object = *request.object;
  const std::string name = NameOf(object);
  request.name = name;
  if (scope.disabled_fields) api::DropDisabledFields(resource.working_kind().Type(), object, nullptr);
  PrepareKindForCreate(scope, resource, object);
  CanonicalizeObject(resource, object);
  FLYBALL_CO_TRY(ValidateNew(resource, object));
  AddCreateWarnings(scope, resource, object);
  if (options.authorize) FLYBALL_CO_TRY(co_await options.authorize());
  FLYBALL_CO_TRY(co_await admission_.Validate(request));
  auto* lifecycle = LifecycleOf(resource);
  const store::Revision given_version = WantedRevision(object).value_or(0);
  const json::Value asked = lifecycle ? object : json::Value();

  for (int attempt = 1; attempt <= kMaxCompanionTries; ++attempt) {
    store::Transaction companions;
    if (lifecycle) {
      FLYBALL_CO_ASSIGN(companions, lifecycle->BeforeCreate(object));
    }
    auto encoding = writer_.Encode(scope, resource, object, given_version);  // which a dry run shows again
    const auto stored = co_await std::move(encoding);
    if (!stored) co_return Unexpected(stored.error());
    if (scope.dry_run) {
      if (resource.cache->Get(ServedResource::CacheKey(NamespaceOf(object), NameOf(object))))
        co_return Unexpected(AlreadyExists(*resource.kind, NameOf(object)));
      co_return ObjectPtr(*stored);
    }
    // Upstream's storage refuses it: only of valid objects, and not in a dry run.
    if (given_version != 0)
      co_return Unexpected(
          Error(Reason::kUnknown, 500, "resourceVersion should not be set on objects to be created"));
    auto committing =
        writer_.Put(scope, resource, *stored, store::Precondition::Absent(), std::move(companions));
    FLYBALL_CO_ASSIGN(const Written written, co_await std::move(committing));
    if (written == Written::kYes) co_return ObjectPtr(*stored);
    if (written == Written::kObjectDiffers)
      co_return Retry{kMaxNameTries, AlreadyExists(*resource.kind, NameOf(object))};
    object = asked;
  }
  co_return Unexpected(AllocationsMove(resource));
}

Task<Result<UpdateOutcome>> Registry::Update(RequestScope& scope, const ServedResource& resource,
                                             std::string_view namespace_name, std::string_view name,
                                             Transform transform, UpdateOptions options) {
  const std::string cache_key =
      ServedResource::CacheKey(resource.kind->namespaced ? namespace_name : std::string_view{}, name);
  const std::string object_name(name);
  for (int attempt = 1;; ++attempt) {
    UpdateAttempt update{scope, resource, options, transform, object_name, resource.cache->Get(cache_key)};
    auto trying = update.current ? TryUpdate(update) : TryCreateAbsent(update);
    auto tried = co_await std::move(trying);
    if (!tried.CanRetry(attempt)) co_return std::move(tried).Outcome();
  }
}

Task<Attempt<UpdateOutcome>> Registry::TryCreateAbsent(UpdateAttempt& update) {
  RequestScope& scope = update.scope;
  const ServedResource& resource = update.resource;
  const UpdateOptions& options = update.options;
  if (!options.create_if_absent) co_return Unexpected(NotFound(*resource.kind, update.name));
  FLYBALL_CO_ASSIGN(json::Value object, update.transform(json::Value()));
  if (!object["metadata"]["resourceVersion"].string_or("").empty())
    co_return Unexpected(NotFound(*resource.kind, update.name));
  if (const auto uid = object["metadata"]["uid"].string_or(""); !uid.empty() && !options.track_fields)
    co_return Unexpected(Conflict(*resource.kind, update.name,
                                  "uid mismatch: the provided object specified uid " + std::string(uid) +
                                      ", and no existing object was found"));
  auto creating = Create(scope, resource, std::move(object),
                         CreateOptions{options.track_fields, options.authorize_create});
  auto created = co_await std::move(creating);
  if (created) co_return UpdateOutcome{std::move(*created), true};
  if (created.error().Is(Reason::kAlreadyExists)) co_return Retry{kMaxPatchTries, created.error()};
  co_return Unexpected(created.error());
}

Status Registry::CheckIdentity(UpdateAttempt& update) {
  const ServedResource& resource = update.resource;
  const UpdateOptions& options = update.options;
  const StoredObject& current = *update.current;
  json::Value& object = update.object;
  if (auto& metadata = object["metadata"]; metadata.is_object() && !resource.kind->namespaced) {
    metadata.as_object().Erase("namespace");
  } else if (metadata.is_object() && metadata["namespace"].string_or("").empty()) {
    metadata["namespace"] = current.namespace_name();
  }

  FLYBALL_ASSIGN(const store::Revision wanted, WantedRevision(object));
  if (const auto uid = object["metadata"]["uid"].string_or("");
      options.uid_precondition && !uid.empty() && uid != current.uid())
    return Unexpected(UidMismatch(resource, object, current, update.scope.dry_run));
  const bool needs_version =
      resource.custom || (!resource.hooks->allow_unconditional_update &&
                          (options.subresource.empty() || options.subresource == "status"));
  if (wanted == 0 && needs_version) return Unexpected(MissingVersion(resource, object));
  if (wanted != 0 && wanted != current.revision())
    return Unexpected(Modified(*resource.kind, current.name()));
  object["metadata"]["resourceVersion"] = std::to_string(current.revision());
  // A patch carries the version of what it was made from: that one may be made again.
  if (options.conflict_retries)
    update.tries_if_modified = kMaxPatchTries;
  else if (wanted == 0)
    update.tries_if_modified = kMaxUnconditionalTries;
  return {};
}

Task<Status> Registry::AdmitChange(UpdateAttempt& update) {
  RequestScope& scope = update.scope;
  const ServedResource& resource = update.resource;
  const UpdateOptions& options = update.options;
  json::Value& object = update.object;
  AdmissionRequest request{AdmissionRequest::Operation::kUpdate,
                           scope,
                           resource,
                           options.subresource,
                           update.current->namespace_name(),
                           update.current->name(),
                           &object,
                           &update.old};
  json::Value body, old_body;
  if (options.body) {
    body = options.body->from_object(object);
    old_body = options.body->from_object(update.old);
    request.object = &body;
    request.old_object = &old_body;
  }
  if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Admit(request));
  if (options.body) options.body->to_object(body, object);
  if (scope.disabled_fields) api::DropDisabledFields(resource.working_kind().Type(), object, &update.old);
  PrepareForUpdate(scope, resource, options.subresource, update.old, object);
  CanonicalizeObject(resource, object);
  FLYBALL_CO_TRY(ValidateChange(resource, object, update.old, options.subresource, scope.warnings));
  AddUpdateWarnings(scope, resource, options.subresource, object, update.old);
  if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Validate(request));
  co_return Status();
}

Task<Attempt<UpdateOutcome>> Registry::TryUpdate(UpdateAttempt& update) {
  RequestScope& scope = update.scope;
  const ServedResource& resource = update.resource;
  const UpdateOptions& options = update.options;
  FLYBALL_CO_ASSIGN(update.old, co_await WorkingValue(resource, *update.current, scope.executor));
  if (options.prepare) FLYBALL_CO_TRY(co_await options.prepare(update.old));
  FLYBALL_CO_ASSIGN(update.object, update.transform(update.old));
  FLYBALL_CO_TRY(CheckIdentity(update));
  AddOwnerWarning(scope, DropRepeatedOwners(update.object["metadata"]));
  FillInTimes(resource, options.subresource, scope.now, update.object, &update.old);
  if (options.track_fields) {
    auto finding = FindChangesElsewhere(scope, resource, update.old, update.object);
    FLYBALL_CO_ASSIGN(const ChangesElsewhere elsewhere, co_await std::move(finding));
    TrackFields(scope, resource, &update.old, update.object, options.subresource, elsewhere);
  }
  auto admitting = AdmitChange(update);
  FLYBALL_CO_TRY(co_await std::move(admitting));
  if (!ReadyToRemove(resource, update.object)) {
    auto storing = StoreChange(update);
    co_return co_await std::move(storing);
  }
  auto removing = Remove(scope, resource, update.current, std::move(update.object), update.tries_if_modified);
  auto removed = co_await std::move(removing);
  co_return std::move(removed).As<UpdateOutcome>(
      [](ObjectPtr object) { return UpdateOutcome{std::move(object)}; });
}

Task<Attempt<UpdateOutcome>> Registry::StoreChange(UpdateAttempt& update) {
  RequestScope& scope = update.scope;
  const ServedResource& resource = update.resource;
  const UpdateOptions& options = update.options;
  const ObjectPtr& current = update.current;
  auto* lifecycle = options.subresource.empty() ? LifecycleOf(resource) : nullptr;
  store::Transaction companions;
  if (lifecycle) {
    FLYBALL_CO_ASSIGN(companions, lifecycle->BeforeUpdate(update.object, update.old));
  }
  auto encoding = writer_.Encode(scope, resource, update.object, current->revision());
  FLYBALL_CO_ASSIGN(const auto stored, co_await std::move(encoding));
  // A write that changes nothing is not one, unless it brings the stored form up to date (a rotated key).
  if (*stored->bytes() == *current->bytes()) {
    auto asking = writer_.IsStale(scope, resource.Key(current->namespace_name(), current->name()));
    const bool stale = co_await std::move(asking);
    if (!stale) co_return UpdateOutcome{current};
  }
  if (scope.dry_run) co_return UpdateOutcome{stored};
  auto committing = writer_.Put(scope, resource, stored,
                                store::Precondition::ModRevision(current->revision()), std::move(companions));
  FLYBALL_CO_ASSIGN(const Written written, co_await std::move(committing));
  if (written == Written::kYes) co_return UpdateOutcome{stored};
  const int tries = written == Written::kCompanionDiffers ? kMaxCompanionTries : update.tries_if_modified;
  co_return Retry{tries, Modified(*resource.kind, current->name())};
}

Task<Attempt<ObjectPtr>> Registry::Remove(RequestScope& scope, const ServedResource& resource,
                                          const ObjectPtr& current, json::Value object, int tries) {
  const Bytes bytes = EncodeObject(resource, object);
  const auto shown_at = [&](store::Revision revision) {
    return ObjectPtr(StoredObject::FromValue(object, bytes, revision, resource.working_kind()));
  };
  if (scope.dry_run) co_return shown_at(current->revision());
  store::Transaction companions;
  if (auto* lifecycle = LifecycleOf(resource)) {
    FLYBALL_CO_ASSIGN(companions, lifecycle->BeforeDelete(object));
  }
  auto erasing = writer_.Erase(scope, resource, *current, std::move(companions));
  FLYBALL_CO_ASSIGN(const store::CommitOutcome outcome, co_await std::move(erasing));
  if (!outcome.committed) co_return Retry{tries, Modified(*resource.kind, current->name())};
  co_return shown_at(outcome.revision);
}

Task<Result<DeleteOutcome>> Registry::Delete(RequestScope& scope, const ServedResource& resource,
                                             std::string_view namespace_name, std::string_view name,
                                             DeleteOptions options) {
  const std::string object_name(name);
  const std::string object_namespace(resource.kind->namespaced ? namespace_name : std::string_view{});
  scope.dry_run |= options.dry_run;
  ObjectPtr ending;
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = resource.cache->Get(ServedResource::CacheKey(object_namespace, object_name));
    // Whoever saw it ending was faster than we are (upstream: ignoreNotFound).
    if (ending && (!current || current->uid() != ending->uid())) co_return DeleteOutcome{ending, true};
    if (!current) co_return Unexpected(NotFound(*resource.kind, object_name));
    auto trying = TryDelete(scope, resource, current, options, ending);
    auto tried = co_await std::move(trying);
    if (!tried.CanRetry(attempt)) co_return std::move(tried).Outcome();
  }
}

Status Registry::CheckDeletable(const ServedResource& resource, const StoredObject& current,
                                const DeleteOptions& options) {
  FLYBALL_TRY(CheckPreconditions(resource, current, options));
  if (!options.unreadable_only) return {};
  return Unexpected(Conflict(*resource.kind, current.name(),
                             "StorageError: invalid object, Code: 4, Key: " +
                                 resource.Key(current.namespace_name(), current.name()) +
                                 ", ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed "
                                 "because the object is decodable from storage"));
}

Task<Attempt<DeleteOutcome>> Registry::TryDelete(RequestScope& scope, const ServedResource& resource,
                                                 const ObjectPtr& current, const DeleteOptions& options,
                                                 ObjectPtr& ending) {
  FLYBALL_CO_TRY(CheckDeletable(resource, *current, options));
  FLYBALL_CO_ASSIGN(const json::Value old, co_await WorkingValue(resource, *current, scope.executor));
  AdmissionRequest request{AdmissionRequest::Operation::kDelete,
                           scope,
                           resource,
                           {},
                           current->namespace_name(),
                           // Upstream names the collection, not its members.
                           scope.info.verb == "deletecollection" ? std::string_view() : current->name(),
                           nullptr,
                           &old,
                           &options};
  if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Admit(request));
  if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Validate(request));
  FLYBALL_CO_ASSIGN(DeletionPlan plan, PlanDeletion(scope, resource, old, options));
  if (plan.unchanged) co_return DeleteOutcome{current, false};
  const auto remove = [&](const ObjectPtr& last) {
    return Remove(scope, resource, last, plan.object, kMaxUnconditionalTries);
  };
  const auto gone = [](ObjectPtr object) { return DeleteOutcome{std::move(object), true}; };
  if (plan.remove && (!plan.marked || scope.dry_run)) {
    auto removing = remove(current);
    auto removed = co_await std::move(removing);
    co_return std::move(removed).As<DeleteOutcome>(gone);
  }
  auto encoding = writer_.Encode(scope, resource, plan.object, current->revision());
  FLYBALL_CO_ASSIGN(const auto stored, co_await std::move(encoding));
  if (scope.dry_run) co_return DeleteOutcome{stored, false};
  auto committing =
      writer_.Put(scope, resource, stored, store::Precondition::ModRevision(current->revision()));
  FLYBALL_CO_ASSIGN(const Written written, co_await std::move(committing));
  if (written != Written::kYes)
    co_return Retry{kMaxUnconditionalTries, Modified(*resource.kind, current->name())};
  if (!plan.remove) co_return DeleteOutcome{stored, false};
  ending = stored;
  auto removing = remove(stored);
  auto removed = co_await std::move(removing);
  co_return std::move(removed).As<DeleteOutcome>(gone);
}

}  // namespace flyball::server
