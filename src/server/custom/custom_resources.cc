#include "server/custom/custom_resources.h"

#include <algorithm>

#include "api/custom/crd_status.h"
#include "api/custom/custom_kind.h"
#include "api/custom/custom_object.h"
#include "api/values/time.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "server/custom/version_converter.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

std::string Text(const json::Value& value) {
  return std::string(value.string_or(""));
}

using KindPtr = std::shared_ptr<const api::CustomKind>;

// Whether objects can be selected by the same fields in every version that is served and as they are stored.
bool SelectAlike(const std::vector<KindPtr>& kinds, const api::CustomKind& stored) {
  const auto& fields = stored.info().selectable_fields;
  return std::all_of(kinds.begin(), kinds.end(), [&](const KindPtr& kind) {
    return std::ranges::equal(kind->info().selectable_fields, fields);
  });
}

// Objects may have been stored under earlier schemas, or in another version: each is pruned and defaulted by
// the schema of its version, then it becomes one of the storage version and keeps what that one knows
// (upstream: schemaCoercingDecoder, schemaCoercingConverter). Where a webhook converts, it stays one of its
// own version until somebody asks for another.
StoredObject::ReadForm FormOf(std::vector<KindPtr> kinds, KindPtr stored, bool by_webhook) {
  return [kinds = std::move(kinds), stored = std::move(stored), by_webhook](json::Value& object) {
    const auto version = object["apiVersion"].string_or("");
    const auto it = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const KindPtr& kind) { return kind->info().ApiVersion() == version; });
    if (by_webhook && it == kinds.end()) return false;
    const api::CustomKind& own = it == kinds.end() ? *stored : **it;
    bool changed = api::PruneCustomObject(own.schema(), object);
    changed |= api::DefaultCustomObject(own.schema(), object);
    if (by_webhook || version == stored->info().ApiVersion()) return changed;
    object["apiVersion"] = stored->info().ApiVersion();
    api::PruneCustomObject(stored->schema(), object);
    return true;
  };
}

std::shared_ptr<const api::KindInfo> InfoOf(const std::shared_ptr<const api::CustomKind>& kind) {
  return {kind, &kind->info()};
}

std::string PrefixOf(const json::Value& definition) {
  return "/registry/" + Text(definition["spec"]["group"]) + "/" +
         Text(definition["spec"]["names"]["plural"]) + "/";
}

}  // namespace

// One definition at a time, in the order its changes come.
//
// A definition is: waiting (names not decided) → established (served) → terminating (objects deleted, then
// the finalizer).
struct CustomResources::Follower : std::enable_shared_from_this<Follower> {
  Follower(ServerState& s, WatchCache& c, WebhookCaller& w) : state(s), cache(c), webhooks(w) {}

  ServerState& state;
  WatchCache& cache;
  WebhookCaller& webhooks;
  // How a definition is served.
  struct Served {
    std::string generation{};              // of its spec
    bool listed = false;                   // in discovery
    std::vector<KindPtr> kinds{};          // all its versions
    std::vector<ResourcePtr> resources{};  // the served ones
  };
  std::map<std::string, Served> served;  // by the definition's name

  // A definition as it is now, or was last.
  void Follow(const StoredObject& object, bool deleted);
  // `definition` is without its schemas, here and below; `text` is all of it.
  Status Sync(const json::Value& definition, const Bytes& text);
  void Forget(const json::Value& definition);
  Status Serve(const json::Value& definition, const Bytes& text, bool listed);
  Status Build(const json::Value& definition, const Bytes& text, Served& into);
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

Status CustomResources::Follower::Sync(const json::Value& definition, const Bytes& text) {
  const std::string name = Text(definition["metadata"]["name"]);
  const std::string now = api::FormatTime(state.clock().Now());
  json::Value next = definition;
  if (!definition["metadata"]["deletionTimestamp"].is_null()) {
    FLYBALL_TRY(Serve(definition, text, true));
    // Its status says so first; that change comes back here.
    if (api::MarkTerminating(next, now)) {
      WriteStatus(name);
    } else {
      Terminate(definition);
    }
    return {};
  }
  const auto snapshot = state.catalog.snapshot();
  const bool news = api::UpdateDefinitionStatus(next, Others(definition, *snapshot), now);
  // Served as soon as it can be: by the time a client reads Established, its objects can be created. Found in
  // discovery once its conditions are written: who sees it there can update it without a conflict.
  const Status served_now = api::IsEstablished(next) ? Serve(next, text, !news) : Status();
  if (news) WriteStatus(name);
  return served_now;
}

Status CustomResources::Follower::Serve(const json::Value& definition, const Bytes& text, bool listed) {
  Served& own = served[Text(definition["metadata"]["name"])];
  const std::string generation = Text(definition["metadata"]["uid"]) + "/" +
                                 std::to_string(definition["metadata"]["generation"].int_or(0));
  listed |= own.listed;
  if (own.generation != generation) {
    FLYBALL_TRY(Build(definition, text, own));
    own.generation = generation;
  } else {
    for (const auto& kind : own.kinds) kind->Keep(text);
    if (listed == own.listed) return {};
  }
  own.listed = listed;
  std::vector<ResourcePtr> resources;
  for (const auto& resource : own.resources) {
    auto version = std::make_shared<ServedResource>(*resource);
    version->listed = listed;
    resources.push_back(std::move(version));
  }
  state.catalog.SetCustom(Text(definition["spec"]["group"]), Text(definition["spec"]["names"]["plural"]),
                          std::move(resources));
  return {};
}

Status CustomResources::Follower::Build(const json::Value& definition, const Bytes& text, Served& into) {
  std::vector<KindPtr> kinds, wanted;
  KindPtr stored;
  for (const auto& version : definition["spec"]["versions"].as_array()) {
    FLYBALL_ASSIGN(const KindPtr kind,
                   api::CustomKind::Build(definition, version["name"].string_or(""), text));
    kinds.push_back(kind);
    if (version["served"].bool_or(false)) wanted.push_back(kind);
    if (kind->storage()) stored = kind;
  }
  if (!stored)
    return Unexpected(
        InternalError("definition " + Text(definition["metadata"]["name"]) + " has no storage version"));
  const auto converter =
      NewVersionConverter(definition, kinds, {webhooks, state.random, state.metrics, state.clock()});
  const bool by_webhook = converter && converter->IsRemote();
  const bool selects_converted = by_webhook || (converter && !SelectAlike(wanted, *stored));
  const std::string prefix = PrefixOf(definition);
  // Another schema may select by other fields and show others: the cache is made anew and its watches end.
  cache.RemoveResource(prefix);
  FLYBALL_ASSIGN(const auto objects,
                 cache.AddResource(prefix, InfoOf(stored), FormOf(kinds, stored, by_webhook)));
  into.kinds = std::move(kinds);
  into.resources.clear();
  for (const auto& kind : wanted) {
    auto resource = std::make_shared<ServedResource>();
    resource->kind = InfoOf(kind);
    resource->hooks = &api::HooksFor("", "");
    resource->prefix = prefix;
    resource->cache = objects;
    resource->custom = kind;
    resource->converter = converter;
    resource->selects_converted = selects_converted;
    into.resources.push_back(std::move(resource));
  }
  return {};
}

void CustomResources::Follower::Forget(const json::Value& definition) {
  const std::string group = Text(definition["spec"]["group"]),
                    plural = Text(definition["spec"]["names"]["plural"]);
  state.catalog.SetCustom(group, plural, {});
  cache.RemoveResource(PrefixOf(definition));
  served.erase(Text(definition["metadata"]["name"]));
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
  for (const auto& listed : state.catalog.snapshot()->ordered) {
    if (!listed->custom || listed->kind->group != group || listed->kind->plural != plural) continue;
    auto version = std::make_shared<ServedResource>(*listed);
    version->terminating = true;
    ending.push_back(std::move(version));
  }
  state.catalog.SetCustom(group, plural, std::move(ending));
}

CustomResources::CustomResources(ServerState& state, WatchCache& cache, WebhookCaller& webhooks)
    : follower_(std::make_shared<Follower>(state, cache, webhooks)) {}

CustomResources::~CustomResources() = default;

void CustomResources::Follower::Follow(const StoredObject& object, bool deleted) {
  const auto definition = api::CustomKind::ParseDefinition(*object.bytes());
  if (definition && deleted) return Forget(*definition);
  const Status synced = definition ? Sync(*definition, object.bytes()) : Unexpected(definition.error());
  if (!synced)
    log::Error("a custom resource is not served",
               {{"name", object.name()}, {"error", synced.error().message()}});
}

Status CustomResources::Start() {
  const auto definitions =
      follower_->state.catalog.Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  for (const auto& object : definitions->cache->List({}).objects) follower_->Follow(*object, false);
  std::weak_ptr<Follower> weak = follower_;
  definitions->cache->Observe([weak](const Change& change) {
    if (const auto follower = weak.lock()) follower->Follow(change.any(), !change.object);
  });
  return {};
}

}  // namespace flyball::server
