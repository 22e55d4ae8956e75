#include "server/custom/custom_resources.h"

#include "api/custom/crd_status.h"
#include "api/custom/custom_kind.h"
#include "api/custom/custom_object.h"
#include "api/values/time.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

std::string Text(const json::Value& value) {
  return std::string(value.string_or(""));
}

// Versions differ in their apiVersion only (conversion strategy None).
std::shared_ptr<const VersionConversion> Renaming(std::string served, std::string stored) {
  auto conversion = std::make_shared<VersionConversion>();
  conversion->from_stored = [served](json::Value object) {
    object["apiVersion"] = served;
    return object;
  };
  conversion->to_stored = [stored](json::Value object) {
    object["apiVersion"] = stored;
    return object;
  };
  return conversion;
}

std::shared_ptr<const api::KindInfo> InfoOf(const std::shared_ptr<const api::CustomKind>& kind) {
  return {kind, &kind->info()};
}

}  // namespace

// One definition at a time, in the order its changes come.
//
// A definition is: waiting (names not decided) → established (served) → terminating (objects deleted, then
// the finalizer).
struct CustomResources::Follower : std::enable_shared_from_this<Follower> {
  Follower(ServerState& s, WatchCache& c) : state(s), cache(c) {}

  ServerState& state;
  WatchCache& cache;
  std::map<std::string, std::string> versions;  // definition → the spec generation it is served from

  Status Sync(const json::Value& definition);
  void Forget(const json::Value& definition);
  Status Serve(const json::Value& definition);
  void WriteStatus(const std::string& name);
  void Terminate(const json::Value& definition);
  void EndCreation(const ServedResource& resource, const std::string& name);
  std::vector<const api::KindInfo*> Others(const json::Value& definition,
                                           const Catalog::Snapshot& snapshot) const;
};

std::vector<const api::KindInfo*> CustomResources::Follower::Others(const json::Value& definition,
                                                                    const Catalog::Snapshot& snapshot) const {
  std::vector<const api::KindInfo*> others;
  const auto group = definition["spec"]["group"].string_or("");
  const auto plural = definition["spec"]["names"]["plural"].string_or("");
  for (const auto& resource : snapshot.ordered)
    if (!(resource->custom && resource->kind->group == group && resource->kind->plural == plural))
      others.push_back(resource->kind.get());
  return others;
}

Status CustomResources::Follower::Sync(const json::Value& definition) {
  if (!definition["metadata"]["deletionTimestamp"].is_null()) {
    FLYBALL_TRY(Serve(definition));
    json::Value next = definition;
    // Its status says so first; that change comes back here.
    if (api::MarkTerminating(next, api::FormatTime(state.clock().Now()))) {
      WriteStatus(Text(definition["metadata"]["name"]));
    } else {
      Terminate(definition);
    }
    return {};
  }
  const auto snapshot = state.catalog.snapshot();
  json::Value next = definition;
  if (api::UpdateDefinitionStatus(next, Others(definition, *snapshot), api::FormatTime(state.clock().Now())))
    WriteStatus(Text(definition["metadata"]["name"]));
  // Served as soon as it can be: by the time a client reads Established, its objects can be created.
  if (api::IsEstablished(next)) return Serve(next);
  return {};
}

Status CustomResources::Follower::Serve(const json::Value& definition) {
  const std::string name = Text(definition["metadata"]["name"]);
  const std::string generation = Text(definition["metadata"]["uid"]) + "/" +
                                 std::to_string(definition["metadata"]["generation"].int_or(0));
  if (versions[name] == generation) return {};
  FLYBALL_ASSIGN(const auto kinds, api::CustomKind::BuildServed(definition));
  std::shared_ptr<const api::CustomKind> stored;
  for (const auto& version : definition["spec"]["versions"].as_array())
    if (version["storage"].bool_or(false)) {
      FLYBALL_ASSIGN(stored, api::CustomKind::Build(definition, version["name"].string_or("")));
    }
  if (!stored) return Unexpected(InternalError("definition " + name + " has no storage version"));
  const std::string group = Text(definition["spec"]["group"]),
                    plural = Text(definition["spec"]["names"]["plural"]);
  const std::string prefix = "/registry/" + group + "/" + plural + "/";
  // Another schema may select by other fields: the cache is made anew and its watches end.
  cache.RemoveResource(prefix);
  FLYBALL_ASSIGN(const auto objects, cache.AddResource(prefix, InfoOf(stored)));
  std::vector<ResourcePtr> resources;
  for (const auto& kind : kinds) {
    auto resource = std::make_shared<ServedResource>();
    resource->kind = InfoOf(kind);
    resource->hooks = &api::HooksFor("", "");
    resource->prefix = prefix;
    resource->cache = objects;
    resource->custom = kind;
    if (kind->info().version != stored->info().version)
      resource->conversion = Renaming(kind->info().ApiVersion(), stored->info().ApiVersion());
    resources.push_back(std::move(resource));
  }
  state.catalog.SetCustom(group, plural, std::move(resources));
  versions[name] = generation;
  return {};
}

void CustomResources::Follower::Forget(const json::Value& definition) {
  const std::string group = Text(definition["spec"]["group"]),
                    plural = Text(definition["spec"]["names"]["plural"]);
  state.catalog.SetCustom(group, plural, {});
  cache.RemoveResource("/registry/" + group + "/" + plural + "/");
  versions.erase(Text(definition["metadata"]["name"]));
}

namespace {

Task<void> UpdateDefinition(ServerState& state, std::string name, std::string subresource,
                            Registry::Transform transform) {
  RequestScope scope = OwnScope(state);
  scope.resource = state.catalog.Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  UpdateOptions options;
  options.subresource = std::move(subresource);
  options.conflict_retries = true;
  options.skip_admission = true;
  auto outcome = co_await state.registry.Update(scope, *scope.resource, "", name, std::move(transform),
                                                std::move(options));
  if (!outcome && !outcome.error().Is(Reason::kNotFound))
    log::Error("a custom resource definition could not be updated",
               {{"name", name}, {"error", outcome.error().message()}});
}

// Deletes every object of the definition; then the finalizer that held the definition goes.
Task<void> CleanUp(ServerState& state, ResourcePtr resource, std::string name) {
  RequestScope scope = OwnScope(state);
  scope.resource = resource;
  bool left = false;
  if (resource) {
    for (const auto& object : resource->cache->List({}).objects) {
      DeleteOptions options;
      auto outcome =
          co_await state.registry.Delete(scope, *resource, object->namespace_name(), object->name(), options);
      left |= outcome && !outcome->removed;
    }
  }
  if (left) co_return;  // finalizers hold some; when the last one goes it is tried again
  Registry::Transform transform = [](const json::Value& current) -> Result<json::Value> {
    json::Value next = current;
    json::Array kept;
    if (const auto& finalizers = current["metadata"]["finalizers"]; finalizers.is_array())
      for (const auto& finalizer : finalizers.as_array())
        if (finalizer.string_or("") != kCleanupFinalizer) kept.push_back(finalizer);
    next["metadata"]["finalizers"] = std::move(kept);
    return next;
  };
  co_await UpdateDefinition(state, std::move(name), "", std::move(transform));
}

constexpr char kFollowing[] = "following custom resource definitions";

}  // namespace

void CustomResources::Follower::WriteStatus(const std::string& name) {
  Registry::Transform transform =
      [self = shared_from_this()](const json::Value& current) -> Result<json::Value> {
    json::Value next = current;
    const auto snapshot = self->state.catalog.snapshot();
    const std::string now = api::FormatTime(self->state.clock().Now());
    if (current["metadata"]["deletionTimestamp"].is_null()) {
      api::UpdateDefinitionStatus(next, self->Others(current, *snapshot), now);
    } else {
      api::MarkTerminating(next, now);
    }
    return next;
  };
  SpawnOwn(UpdateDefinition(state, name, "status", std::move(transform)), kFollowing);
}

// From now on nothing is created; what is there is deleted, and when the last object has gone (a finalizer
// may hold it for long) the definition is let go.
void CustomResources::Follower::Terminate(const json::Value& definition) {
  const std::string group = Text(definition["spec"]["group"]),
                    plural = Text(definition["spec"]["names"]["plural"]),
                    name = Text(definition["metadata"]["name"]);
  const auto snapshot = state.catalog.snapshot();
  const auto resource = snapshot->FindGroupResource(group, plural);
  if (resource && !resource->terminating) EndCreation(*resource, name);
  SpawnOwn(CleanUp(state, resource, name), kFollowing);
}

void CustomResources::Follower::EndCreation(const ServedResource& resource, const std::string& name) {
  const std::string group(resource.kind->group), plural(resource.kind->plural);
  const auto* cache_of_it = resource.cache.get();  // it calls, so it is there
  resource.cache->Observe([weak = weak_from_this(), cache_of_it, group, plural, name](const Change& change) {
    const auto self = weak.lock();
    if (!self || change.object || cache_of_it->size() > 0) return;
    SpawnOwn(CleanUp(self->state, self->state.catalog.snapshot()->FindGroupResource(group, plural), name),
             kFollowing);
  });
  std::vector<ResourcePtr> ending;
  for (const auto& served : state.catalog.snapshot()->ordered) {
    if (!served->custom || served->kind->group != group || served->kind->plural != plural) continue;
    auto version = std::make_shared<ServedResource>(*served);
    version->terminating = true;
    ending.push_back(std::move(version));
  }
  state.catalog.SetCustom(group, plural, std::move(ending));
}

CustomResources::CustomResources(ServerState& state, WatchCache& cache)
    : follower_(std::make_shared<Follower>(state, cache)) {}

CustomResources::~CustomResources() = default;

Status CustomResources::Start() {
  const auto definitions =
      follower_->state.catalog.Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  for (const auto& object : definitions->cache->List({}).objects)
    if (auto synced = follower_->Sync(object->ToValue()); !synced)
      log::Error("a custom resource is not served",
                 {{"name", object->name()}, {"error", synced.error().message()}});
  std::weak_ptr<Follower> weak = follower_;
  definitions->cache->Observe([weak](const Change& change) {
    const auto follower = weak.lock();
    if (!follower) return;
    const auto& shown = change.object ? change.object : change.previous;
    const json::Value definition = shown->ToValue();
    if (!change.object) {
      follower->Forget(definition);
    } else if (auto synced = follower->Sync(definition); !synced) {
      log::Error("a custom resource is not served",
                 {{"name", shown->name()}, {"error", synced.error().message()}});
    }
  });
  return {};
}

}  // namespace flyball::server
