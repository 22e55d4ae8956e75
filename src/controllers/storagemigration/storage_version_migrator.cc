#include "controllers/storagemigration/storage_version_migrator.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "api/types/apiextensions.h"
#include "api/types/storagemigration.h"
#include "client/discovery.h"
#include "controller/objects/owner.h"
#include "controller/objects/retry.h"
#include "controller/objects/write_status.h"

namespace flyball::controllers {
namespace {

constexpr char kMigratorName[] = "storage-version-migrator-controller";
constexpr char kRunnerName[] = "migration-runner-controller";
// Discovery may not have a new custom resource yet.
constexpr Duration kWaitForResource = std::chrono::minutes(1), kLookAgain = std::chrono::seconds(5);
constexpr std::int64_t kPage = 500;

bool IsOver(const StorageVersionMigration& migration) {
  return IsConditionTrue(migration.status.conditions, "Succeeded") ||
         IsConditionTrue(migration.status.conditions, "Failed");
}
bool IsRunning(const StorageVersionMigration& migration) {
  return IsConditionTrue(migration.status.conditions, "Running");
}
bool IsOlder(const StorageVersionMigration& a, const StorageVersionMigration& b) {
  if (a.metadata.creation_timestamp != b.metadata.creation_timestamp)
    return a.metadata.creation_timestamp < b.metadata.creation_timestamp;
  return a.metadata.name < b.metadata.name;
}

// One migration of a resource runs at a time, the oldest first.
bool IsItsTurn(const StorageVersionMigration& migration, Context& ctx) {
  for (const auto& other : ctx.lister<StorageVersionMigration>().List()) {
    const bool same =
        other->spec.resource == migration.spec.resource && other->metadata.name != migration.metadata.name;
    if (same && !IsOver(*other) && (IsRunning(*other) || IsOlder(*other, migration))) return false;
  }
  return true;
}

std::string RunningText(std::size_t left, std::size_t total) {
  std::string text = "The migration is running";
  if (total == 0) return text;
  if (left > 0)
    return text + ", " + std::to_string(left) + "/" + std::to_string(total) + " objects not yet migrated";
  return text + ", " + std::to_string(total) + " objects verified migrated";
}

void SetMigrationCondition(StorageVersionMigration& migration, std::string type, std::string status,
                           std::string reason, std::string message, Context& ctx) {
  Condition condition;
  condition.type = std::move(type);
  condition.status = std::move(status);
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  SetCondition(migration.status.conditions, condition, api::Time::From(ctx.Now()));
}

// By apply, which is what the migrator's role allows; a conflict if the definition is not as it was read.
Result<json::Value> ApplyToDefinition(const CustomResourceDefinition& definition, json::Object status,
                                      Context& ctx) {
  const ObjectMeta& metadata = definition.metadata;
  ApplyParams params{.field_manager = kRunnerName, .force = true};
  params.subresource = "status";
  return ctx.client()
      .Dynamic(KindRefOf<CustomResourceDefinition>())
      .Apply(json::Object{{"apiVersion", "apiextensions.k8s.io/v1"},
                          {"kind", "CustomResourceDefinition"},
                          {"metadata", json::Object{{"name", metadata.name},
                                                    {"resourceVersion", metadata.resource_version}}},
                          {"status", std::move(status)}},
             params);
}

// Says in the custom resource definition, if it is one, that its objects are being rewritten, or that it is
// over: then they are all stored in the current version, unless the definition has changed meanwhile.
Status NoteInDefinition(const StorageVersionMigration& migration, bool running, Context& ctx) {
  const std::string name = migration.spec.resource.resource + "." + migration.spec.resource.group;
  const auto written = RetryOnConflict([&]() -> Result<json::Value> {
    FLYBALL_ASSIGN(const auto definition, ctx.client().Get<CustomResourceDefinition>("", name));
    json::Object status;
    CustomResourceDefinitionCondition note;
    note.type = "StorageMigrating";
    note.status = running ? "True" : "False";
    note.observed_generation = definition.metadata.generation;
    note.last_transition_time = api::Time::From(ctx.Now());
    if (running) {
      note.reason = "MigrationRunning";
      note.message = "Migration " + migration.metadata.name + " is running";
    } else {
      const auto* before = FindCondition(definition.status.conditions, note.type);
      const bool unchanged = before && before->observed_generation == definition.metadata.generation;
      const bool succeeded = IsConditionTrue(migration.status.conditions, "Succeeded");
      note.reason = succeeded ? "MigrationSucceeded" : "MigrationFailed";
      note.message = succeeded ? "The migration has succeeded" : "The migration has failed";
      if (succeeded)
        note.message += unchanged
                            ? " and the stored versions have been updated"
                            : " but the stored versions have not been updated due to a generation mismatch";
      if (succeeded && unchanged)
        for (const auto& version : definition.spec.versions)
          if (version.storage) status.Set("storedVersions", json::Array{version.name});
    }
    status.Set("conditions", json::Array{ToJson(note)});
    return ApplyToDefinition(definition, std::move(status), ctx);
  });
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return {};
}

std::uint64_t RevisionOf(std::string_view text) {
  std::uint64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

// Gone, or written by somebody else: then it is stored in the current version already.
bool IsSettled(const Result<json::Value>& patched) {
  return patched || patched.error().Is(Reason::kConflict) || patched.error().Is(Reason::kNotFound);
}

bool MayTryAgain(const Error& error) {
  return error.Is(Reason::kConnection) || error.Is(Reason::kServerTimeout) || error.Is(Reason::kTimeout) ||
         error.Is(Reason::kTooManyRequests) || error.Is(Reason::kServiceUnavailable) ||
         error.Is(Reason::kInternalError);
}

// What there is to rewrite, with the version of each.
struct Candidates {
  struct Item {
    std::string ns, name, version;
  };
  std::vector<Item> items;
  std::size_t total = 0;
};

Result<Candidates> FindCandidates(const DynamicClient& resource, std::uint64_t up_to) {
  Candidates found;
  ListParams page{.limit = kPage};
  do {
    FLYBALL_ASSIGN(const auto list, resource.List("", page));
    for (const json::Value& object : list.items) {
      const auto& metadata = object["metadata"];
      std::string version(metadata["resourceVersion"].string_or(""));
      ++found.total;
      if (RevisionOf(version) <= up_to)
        found.items.push_back({std::string(metadata["namespace"].string_or("")),
                               std::string(metadata["name"].string_or("")), std::move(version)});
    }
    page.continue_token = list.metadata.continue_token;
  } while (!page.continue_token.empty());
  return found;
}

// A patch that changes nothing but is bound to the version: the server writes the object anew.
json::Value Touch(const KindRef& kind, const std::string& version) {
  return json::Object{{"apiVersion", kind.ApiVersion()},
                      {"kind", kind.kind},
                      {"metadata", json::Object{{"resourceVersion", version}}}};
}

Status Finish(StorageVersionMigration migration, std::size_t left, std::size_t total, const Error* error,
              Context& ctx) {
  SetMigrationCondition(migration, "Running", "True", "MigrationRunning", RunningText(left, total), ctx);
  if (error) {
    SetMigrationCondition(migration, "Failed", "True", "StorageVersionMigrationFailed",
                          std::to_string(left) + "/" + std::to_string(total) +
                              " not yet migrated. migration encountered unhandled error: " + error->message(),
                          ctx);
  } else {
    SetMigrationCondition(migration, "Succeeded", "True", "StorageVersionMigrationSucceeded",
                          "Migration completed", ctx);
  }
  FLYBALL_TRY(WriteStatus(ctx.client(), migration));
  return {};
}

Status Migrate(const StorageVersionMigration& migration, const KindRef& kind, Context& ctx) {
  const DynamicClient resource = ctx.client().Dynamic(kind);
  FLYBALL_ASSIGN(const Candidates found,
                 FindCandidates(resource, RevisionOf(migration.status.resource_version)));
  std::size_t left = found.items.size();
  for (const auto& item : found.items) {
    PatchParams params;
    params.field_manager = kMigratorName;
    const auto patched =
        resource.Patch(item.ns, item.name, PatchType::kMerge, Touch(kind, item.version), params);
    if (!IsSettled(patched)) {
      if (MayTryAgain(patched.error())) return Unexpected(patched.error());
      return Finish(migration, left, found.total, &patched.error(), ctx);
    }
    --left;
  }
  return Finish(migration, left, found.total, nullptr, ctx);
}

Status FailMigration(StorageVersionMigration migration, std::string why, Context& ctx) {
  SetMigrationCondition(migration, "Failed", "True", "StorageVersionMigrationFailed", std::move(why), ctx);
  FLYBALL_TRY(WriteStatus(ctx.client(), migration));
  return {};
}

Status StartMigration(StorageVersionMigration migration, Context& ctx) {
  FLYBALL_TRY(NoteInDefinition(migration, true, ctx));
  SetMigrationCondition(migration, "Running", "True", "MigrationRunning", RunningText(0, 0), ctx);
  FLYBALL_TRY(WriteStatus(ctx.client(), migration));
  return {};
}

Status EndMigration(StorageVersionMigration migration, Context& ctx) {
  FLYBALL_TRY(NoteInDefinition(migration, false, ctx));
  SetMigrationCondition(migration, "Running", "False", "MigrationCompleted", "Migration completed", ctx);
  FLYBALL_TRY(WriteStatus(ctx.client(), migration));
  return {};
}

// Objects that are written from now on need not be.
Status FixVersion(StorageVersionMigration migration, const KindRef& kind, Context& ctx) {
  FLYBALL_ASSIGN(const auto list, ctx.client().Dynamic(kind).List("", {.limit = 1}));
  migration.status.resource_version = list.metadata.resource_version;
  FLYBALL_TRY(WriteStatus(ctx.client(), migration));
  return {};
}

class Migrator {
 public:
  explicit Migrator(const Client& client) : mapper_(client) {}

  // Each step writes the status, which brings the next one.
  Result<Action> Reconcile(const StorageVersionMigration& migration, Context& ctx) {
    if (IsOver(migration)) {
      if (IsRunning(migration)) FLYBALL_TRY(EndMigration(migration, ctx));
      return Done();
    }
    if (!IsRunning(migration)) {
      if (!IsItsTurn(migration, ctx)) return Done();
      FLYBALL_TRY(StartMigration(migration, ctx));
      return Done();
    }
    const auto& resource = migration.spec.resource;
    const auto kind = mapper_.ForResource(resource.group.empty() ? resource.resource
                                                                 : resource.resource + "." + resource.group);
    if (!kind) return WhenUnknown(migration, kind.error(), ctx);
    if (migration.status.resource_version.empty()) {
      FLYBALL_TRY(FixVersion(migration, *kind, ctx));
      return Done();
    }
    FLYBALL_TRY(Migrate(migration, *kind, ctx));
    return Done();
  }

 private:
  static Result<Action> WhenUnknown(const StorageVersionMigration& migration, const Error& error,
                                    Context& ctx) {
    if (!error.Is(Reason::kNotFound)) return Unexpected(error);
    const TimePoint made = migration.metadata.creation_timestamp
                               ? migration.metadata.creation_timestamp->ToTimePoint()
                               : ctx.Now();
    if (ctx.Now() < made + kWaitForResource) return RequeueAfter(kLookAgain);
    FLYBALL_TRY(FailMigration(migration, "resource does not exist in discovery", ctx));
    return Done();
  }

  RestMapper mapper_;
};

}  // namespace

Status AddStorageVersionMigrator(Manager& manager, int workers) {
  const auto migrator = std::make_shared<Migrator>(manager.client());
  // The end of one migration lets the next of its resource begin.
  const auto migrations = manager.informers().For<StorageVersionMigration>().lister();
  const auto same_resource = [migrations](const StorageVersionMigration& changed) {
    std::vector<ObjectKey> keys;
    for (const auto& other : migrations.List())
      if (other->spec.resource == changed.spec.resource) keys.push_back({"", other->metadata.name});
    return keys;
  };
  return manager.For<StorageVersionMigration>()
      .Named(kMigratorName)
      .Watches<StorageVersionMigration>(same_resource)
      .Workers(workers)
      .Reconcile([migrator](const StorageVersionMigration& migration, Context& ctx) {
        return migrator->Reconcile(migration, ctx);
      });
}

}  // namespace flyball::controllers
