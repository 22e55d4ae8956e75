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
#include "server/registry/time_stamps.h"
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

Error UidMismatch(const ServedResource& resource, const json::Value& object, const StoredObject& current) {
  return Conflict(*resource.kind, current.name(),
                  "StorageError: invalid object, Code: 4, Key: " +
                      resource.Key(current.namespace_name(), current.name()) +
                      ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: " +
                      std::string(object["metadata"]["uid"].string_or("")) +
                      ", UID in object meta: " + current.uid());
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

// Of a valid object, whatever becomes of it: a client whose write then conflicts is warned too.
void AddKindWarnings(RequestScope& scope, const ServedResource& resource, const json::Value& object) {
  if (resource.custom || !resource.hooks->warnings) return;
  std::vector<std::string> warnings;
  resource.hooks->warnings(object, warnings);
  AddWarnings(scope, std::move(warnings));
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
  if (on == WarnOn::kUpdate || !SameSpec(resource, object, old)) AddKindWarnings(scope, resource, object);
}

Error AllocationsMove(const ServedResource& resource) {
  return Error(Reason::kServerTimeout, "the allocations of " + resource.kind->GroupResource() +
                                           " change faster than this request could be stored; try again");
}

bool IsEvent(const ServedResource& resource) {
  return resource.prefix == "/registry/events/";
}

}  // namespace

Registry::Registry(store::Store& store, const AdmissionChain& admission, Random& random, Duration event_ttl,
                   Executor* workers)
    : store_(store), admission_(admission), random_(random), event_ttl_(event_ttl), workers_(workers) {}

Task<bool> Registry::IsStale(RequestScope& scope, std::string key) {
  if (!store_.shared()) co_return store_.IsStale(key);
  if (workers_ == nullptr) co_return false;
  scope.executor = *workers_;
  co_await ResumeOn(scope.executor);
  co_return store_.IsStale(key);
}

void Registry::AddLifecycle(std::string group_resource, std::unique_ptr<ObjectLifecycle> lifecycle) {
  lifecycles_[std::move(group_resource)] = std::move(lifecycle);
}

ObjectLifecycle* Registry::LifecycleOf(const ServedResource& resource) const {
  if (resource.custom) return nullptr;
  const auto it = lifecycles_.find(resource.kind->GroupResource());
  return it == lifecycles_.end() ? nullptr : it->second.get();
}

Registry::Written Registry::WhatCameOf(const store::CommitOutcome& outcome) {
  if (outcome.committed) return Written::kYes;
  return outcome.failed_operation == 0 ? Written::kObjectDiffers : Written::kCompanionDiffers;
}

Task<Result<store::CommitOutcome>> Registry::Commit(RequestScope& scope, store::Operation operation,
                                                    store::Transaction companions) {
  FLYBALL_CO_TRY(scope.CheckAlive());
  store::Transaction transaction;
  transaction.push_back(std::move(operation));
  for (auto& companion : companions) transaction.push_back(std::move(companion));
  auto start = [this, &transaction](UniqueFunction<void(Result<store::CommitOutcome>)> done) {
    store_.Commit(std::move(transaction), std::move(done));
  };
  auto committed = Callback<Result<store::CommitOutcome>>(scope.executor, std::move(start));
  co_return co_await committed;
}

Task<Result<store::CommitOutcome>> Registry::CommitExpected(RequestScope& scope,
                                                            const ServedResource& resource,
                                                            std::shared_ptr<StoredObject> object,
                                                            store::Operation put,
                                                            store::Transaction companions) {
  const Expectation expectation = resource.cache->Expect(std::move(object));
  auto committing = Commit(scope, std::move(put), std::move(companions));
  co_return co_await std::move(committing);
}

Task<Result<std::shared_ptr<StoredObject>>> Registry::Encode(RequestScope& scope,
                                                             const ServedResource& resource,
                                                             json::Value& object, store::Revision revision) {
  const auto& kind = resource.cache->kind();
  if (!resource.converter || resource.IsStorageVersion()) {
    Bytes bytes = EncodeObject(resource, object);
    co_return StoredObject::FromValue(object, std::move(bytes), revision, kind);
  }
  std::vector<json::Value> one{object};
  const std::string api_version = kind.ApiVersion();
  auto converting = resource.converter->Convert(std::move(one), api_version, scope.executor);
  FLYBALL_CO_ASSIGN(std::vector<json::Value> stored, co_await std::move(converting));
  Bytes bytes = EncodeStoredCustom(kind, stored.front());
  co_return StoredObject::FromValue(stored.front(), std::move(bytes), revision, kind);
}

Task<Result<Registry::Written>> Registry::CommitObject(RequestScope& scope, const ServedResource& resource,
                                                       std::shared_ptr<StoredObject> object,
                                                       store::Precondition precondition,
                                                       store::Transaction companions) {
  store::Operation put{resource.Key(object->namespace_name(), object->name()), object->bytes(), precondition,
                       IsEvent(resource) ? event_ttl_ : Duration{}};
  object->set_revision(0);
  auto committing = CommitExpected(scope, resource, object, std::move(put), std::move(companions));
  auto outcome = co_await std::move(committing);
  if (!outcome) co_return Unexpected(outcome.error());
  // Otherwise the cache has done it, and shares the object now.
  if (outcome->committed && object->revision() == 0) object->set_revision(outcome->revision);
  co_return WhatCameOf(*outcome);
}

Task<Result<ObjectPtr>> Registry::Create(RequestScope& scope, const ServedResource& resource,
                                         json::Value object, CreateOptions options) {
  AddOwnerWarning(scope, DropRepeatedOwners(object["metadata"]));
  const bool generated = NameOf(object).empty();
  FillInTimes(resource, {}, scope.now, object, nullptr);
  if (options.track_fields) TrackFields(scope, resource, nullptr, object, {});
  FLYBALL_CO_TRY(PrepareForCreate(scope, resource, object));
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
    auto created = co_await TryCreate(request, object, options);
    const bool taken = !created && created.error().Is(Reason::kAlreadyExists);
    if (!taken || !generated || scope.dry_run || attempt == kMaxNameTries) co_return created;
    object = admitted;
    const std::string prefix(object["metadata"]["generateName"].string_or(""));
    object["metadata"]["name"] = prefix + random_.NameSuffix();
  }
}

Task<Result<ObjectPtr>> Registry::TryCreate(AdmissionRequest& request, json::Value& object,
                                            const CreateOptions& options) {
  RequestScope& scope = request.scope;
  const ServedResource& resource = request.resource;
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
  const bool has_version = !object["metadata"]["resourceVersion"].string_or("").empty();
  const store::Revision given_version = WantedRevision(object).value_or(0);
  const json::Value asked = lifecycle ? object : json::Value();

  for (int attempt = 1; attempt <= kMaxCompanionTries; ++attempt) {
    store::Transaction companions;
    if (lifecycle) {
      FLYBALL_CO_ASSIGN(companions, lifecycle->BeforeCreate(object));
    }
    auto encoding = Encode(scope, resource, object, given_version);  // which a dry run shows again
    const auto stored = co_await std::move(encoding);
    if (!stored) co_return Unexpected(stored.error());
    if (scope.dry_run) {
      if (resource.cache->Get(ServedResource::CacheKey(NamespaceOf(object), NameOf(object))))
        co_return Unexpected(AlreadyExists(*resource.kind, NameOf(object)));
      co_return ObjectPtr(*stored);
    }
    // Upstream's storage refuses it: only of valid objects, and not in a dry run.
    if (has_version)
      co_return Unexpected(
          Error(Reason::kUnknown, 500, "resourceVersion should not be set on objects to be created"));
    auto committing =
        CommitObject(scope, resource, *stored, store::Precondition::Absent(), std::move(companions));
    const auto written = co_await std::move(committing);
    if (!written) co_return Unexpected(written.error());
    if (*written == Written::kYes) co_return ObjectPtr(*stored);
    if (*written == Written::kObjectDiffers)
      co_return Unexpected(AlreadyExists(*resource.kind, NameOf(object)));
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
    const ObjectPtr current = resource.cache->Get(cache_key);
    if (!current) {
      if (!options.create_if_absent) co_return Unexpected(NotFound(*resource.kind, object_name));
      FLYBALL_CO_ASSIGN(json::Value object, transform(json::Value()));
      if (!object["metadata"]["resourceVersion"].string_or("").empty())
        co_return Unexpected(NotFound(*resource.kind, object_name));
      if (const auto uid = object["metadata"]["uid"].string_or(""); !uid.empty() && !options.track_fields)
        co_return Unexpected(Conflict(*resource.kind, object_name,
                                      "uid mismatch: the provided object specified uid " + std::string(uid) +
                                          ", and no existing object was found"));
      auto created = co_await Create(scope, resource, std::move(object),
                                     {options.track_fields, options.authorize_create});
      if (created) co_return UpdateOutcome{std::move(*created), true};
      if (!created.error().Is(Reason::kAlreadyExists) || attempt >= kMaxPatchTries)
        co_return Unexpected(created.error());
      continue;
    }
    int tries = 0;
    auto outcome = co_await TryUpdate(scope, resource, current, transform, options, tries);
    if (tries == 0) co_return outcome;
    if (attempt >= tries) co_return Unexpected(Modified(*resource.kind, object_name));
  }
}

Task<Result<UpdateOutcome>> Registry::TryUpdate(RequestScope& scope, const ServedResource& resource,
                                                const ObjectPtr& current, const Transform& transform,
                                                const UpdateOptions& options, int& tries) {
  FLYBALL_CO_ASSIGN(const json::Value old, co_await WorkingValue(resource, *current, scope.executor));
  if (options.prepare) FLYBALL_CO_TRY(co_await options.prepare(old));
  FLYBALL_CO_ASSIGN(json::Value object, transform(old));

  if (auto& metadata = object["metadata"];
      metadata.is_object() && resource.kind->namespaced && metadata["namespace"].string_or("").empty())
    metadata["namespace"] = current->namespace_name();

  FLYBALL_CO_ASSIGN(const store::Revision wanted, WantedRevision(object));
  if (const auto uid = object["metadata"]["uid"].string_or("");
      options.uid_precondition && !uid.empty() && uid != current->uid())
    co_return Unexpected(UidMismatch(resource, object, *current));
  if (wanted == 0 && !resource.hooks->allow_unconditional_update && !resource.custom &&
      options.subresource.empty())
    co_return Unexpected(MissingVersion(resource, object));
  if (wanted == 0 && resource.custom) co_return Unexpected(MissingVersion(resource, object));
  if (wanted != 0 && wanted != current->revision())
    co_return Unexpected(Modified(*resource.kind, current->name()));
  object["metadata"]["resourceVersion"] = std::to_string(current->revision());
  // A patch carries the version of what it was made from: that one may be made again.
  const bool insists = wanted != 0 && !options.conflict_retries;
  const int tries_if_modified =
      insists ? 0 : (options.conflict_retries ? kMaxPatchTries : kMaxUnconditionalTries);

  AddOwnerWarning(scope, DropRepeatedOwners(object["metadata"]));
  FillInTimes(resource, options.subresource, scope.now, object, &old);
  if (options.track_fields) {
    auto finding = FindChangesElsewhere(scope, resource, old, object);
    FLYBALL_CO_ASSIGN(const ChangesElsewhere elsewhere, co_await std::move(finding));
    TrackFields(scope, resource, &old, object, options.subresource, elsewhere);
  }
  AdmissionRequest request{AdmissionRequest::Operation::kUpdate,
                           scope,
                           resource,
                           options.subresource,
                           current->namespace_name(),
                           current->name(),
                           &object,
                           &old};
  json::Value body, old_body;
  if (options.body) {
    body = options.body->from_object(object);
    old_body = options.body->from_object(old);
    request.object = &body;
    request.old_object = &old_body;
  }
  if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Admit(request));
  if (options.body) options.body->to_object(body, object);
  if (scope.disabled_fields) api::DropDisabledFields(resource.working_kind().Type(), object, &old);
  PrepareForUpdate(scope, resource, options.subresource, old, object);
  CanonicalizeObject(resource, object);
  FLYBALL_CO_TRY(ValidateChange(resource, object, old, options.subresource, scope.warnings));
  AddUpdateWarnings(scope, resource, options.subresource, object, old);
  if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Validate(request));

  if (ReadyToRemove(resource, object)) {
    bool conflict = false;
    auto removed = co_await Remove(scope, resource, current, std::move(object), conflict);
    if (!removed) {
      if (conflict) tries = tries_if_modified;
      co_return Unexpected(removed.error());
    }
    co_return UpdateOutcome{std::move(*removed)};
  }

  auto* lifecycle = options.subresource.empty() ? LifecycleOf(resource) : nullptr;
  store::Transaction companions;
  if (lifecycle) {
    FLYBALL_CO_ASSIGN(companions, lifecycle->BeforeUpdate(object, old));
  }
  auto encoding = Encode(scope, resource, object, current->revision());
  const auto stored = co_await std::move(encoding);
  if (!stored) co_return Unexpected(stored.error());
  // A write that changes nothing is not one, unless it brings the stored form up to date (a rotated key).
  if (*(*stored)->bytes() == *current->bytes()) {
    auto asking = IsStale(scope, resource.Key(current->namespace_name(), current->name()));
    const bool stale = co_await std::move(asking);
    if (!stale) co_return UpdateOutcome{current};
  }
  if (scope.dry_run) co_return UpdateOutcome{*stored};
  auto committing = CommitObject(
      scope, resource, *stored, store::Precondition::ModRevision(current->revision()), std::move(companions));
  const auto written = co_await std::move(committing);
  if (!written) co_return Unexpected(written.error());
  if (*written == Written::kYes) co_return UpdateOutcome{*stored};
  tries = *written == Written::kCompanionDiffers ? kMaxCompanionTries : tries_if_modified;
  co_return Unexpected(Modified(*resource.kind, current->name()));
}

Task<Result<ObjectPtr>> Registry::Remove(RequestScope& scope, const ServedResource& resource,
                                         const ObjectPtr& current, json::Value object, bool& conflict) {
  const Bytes bytes = EncodeObject(resource, object);
  const auto shown_at = [&](store::Revision revision) {
    return ObjectPtr(StoredObject::FromValue(object, bytes, revision, resource.working_kind()));
  };
  if (scope.dry_run) co_return shown_at(current->revision());
  store::Operation removal{resource.Key(current->namespace_name(), current->name()), nullptr,
                           store::Precondition::ModRevision(current->revision())};
  store::Transaction companions;
  if (auto* lifecycle = LifecycleOf(resource)) {
    FLYBALL_CO_ASSIGN(companions, lifecycle->BeforeDelete(object));
  }
  auto committing = Commit(scope, std::move(removal), std::move(companions));
  const auto outcome = co_await std::move(committing);
  if (!outcome) co_return Unexpected(outcome.error());
  if (!outcome->committed) {
    conflict = true;
    co_return Unexpected(Modified(*resource.kind, current->name()));
  }
  co_return shown_at(outcome->revision);
}

Task<Result<DeleteOutcome>> Registry::Delete(RequestScope& scope, const ServedResource& resource,
                                             std::string_view namespace_name, std::string_view name,
                                             DeleteOptions options) {
  const std::string object_name(name);
  const std::string object_namespace(resource.kind->namespaced ? namespace_name : std::string_view{});
  scope.dry_run |= options.dry_run;
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = resource.cache->Get(ServedResource::CacheKey(object_namespace, object_name));
    if (!current) co_return Unexpected(NotFound(*resource.kind, object_name));
    FLYBALL_CO_TRY(CheckPreconditions(resource, *current, options));
    if (options.unreadable_only)
      co_return Unexpected(Conflict(
          *resource.kind, object_name,
          "StorageError: invalid object, Code: 4, Key: " + resource.Key(object_namespace, object_name) +
              ", ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object "
              "is "
              "decodable from storage"));
    FLYBALL_CO_ASSIGN(const json::Value old, co_await WorkingValue(resource, *current, scope.executor));
    AdmissionRequest request{AdmissionRequest::Operation::kDelete,
                             scope,
                             resource,
                             {},
                             object_namespace,
                             // Upstream names the collection, not its members.
                             scope.info.verb == "deletecollection" ? std::string_view() : object_name,
                             nullptr,
                             &old,
                             &options};
    if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Admit(request));
    if (!options.skip_admission) FLYBALL_CO_TRY(co_await admission_.Validate(request));
    FLYBALL_CO_ASSIGN(DeletionPlan plan, PlanDeletion(scope, resource, old, options));
    if (plan.unchanged) co_return DeleteOutcome{current, false};

    bool conflict = false;
    if (plan.remove) {
      auto removed = co_await Remove(scope, resource, current, std::move(plan.object), conflict);
      if (removed) co_return DeleteOutcome{std::move(*removed), true};
      if (!conflict || attempt == kMaxUnconditionalTries) co_return Unexpected(removed.error());
      continue;
    }
    auto encoding = Encode(scope, resource, plan.object, current->revision());
    FLYBALL_CO_ASSIGN(const auto stored, co_await std::move(encoding));
    if (scope.dry_run) co_return DeleteOutcome{stored, false};
    FLYBALL_CO_ASSIGN(const Written written,
                      co_await CommitObject(scope, resource, stored,
                                            store::Precondition::ModRevision(current->revision())));
    if (written == Written::kYes) co_return DeleteOutcome{stored, false};
    if (attempt == kMaxUnconditionalTries) co_return Unexpected(Modified(*resource.kind, object_name));
  }
}

}  // namespace flyball::server
