#include "server/custom/api_services.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/custom/custom_kind.h"
#include "api/wire/discovery.h"
#include "base/observe/log.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

constexpr std::string_view kManagedLabel = "kube-aggregator.kubernetes.io/automanaged";
constexpr std::string_view kOnStart = "onstart", kAlways = "true";
// It is how the others are known, and upstream has none for it.
constexpr std::string_view kOwnGroup = "apiregistration.k8s.io";

// "v1.apps"; "v1." of the core.
std::string ServiceName(std::string_view group, std::string_view version) {
  return std::string(version) + "." + std::string(group);
}

json::Value LocalSpec(std::string_view group, std::string_view version) {
  const auto priority = api::PriorityOf(group, version);
  json::Object spec;
  if (!group.empty()) spec.Set("group", group);
  spec.Set("version", version);
  spec.Set("groupPriorityMinimum", priority.group);
  spec.Set("versionPriority", priority.version);
  return spec;
}

json::Value LocalService(std::string_view group, std::string_view version, std::string_view managed) {
  return json::Object{
      {"apiVersion", "apiregistration.k8s.io/v1"},
      {"kind", "APIService"},
      {"metadata", json::Object{{"name", ServiceName(group, version)},
                                {"labels", json::Object{{std::string(kManagedLabel), managed}}}}},
      {"spec", LocalSpec(group, version)}};
}

json::Value WithoutSchemas(const ObjectPtr& definition) {
  if (!definition) return {};
  auto parsed = api::CustomKind::ParseDefinition(*definition->bytes());
  return parsed ? std::move(*parsed) : json::Value();
}

std::string_view ManagedBy(const json::Value& service) {
  return service["metadata"]["labels"][kManagedLabel].string_or("");
}

}  // namespace

std::vector<json::Value> BuiltinApiServices(const Catalog::Snapshot& catalog) {
  std::vector<json::Value> services;
  std::set<std::string> seen;
  for (const auto& resource : catalog.ordered) {
    if (resource->disabled) continue;
    const auto& kind = *resource->kind;
    if (resource->custom || kind.group == kOwnGroup) continue;
    if (seen.insert(ServiceName(kind.group, kind.version)).second)
      services.push_back(LocalService(kind.group, kind.version, kOnStart));
  }
  return services;
}

struct ApiServices::Follower : std::enable_shared_from_this<Follower> {
  explicit Follower(ServerState& s)
      : state(s),
        services(s.catalog.Find(kOwnGroup, "v1", "apiservices")),
        definitions(s.catalog.Find("apiextensions.k8s.io", "v1", "customresourcedefinitions")) {}

  ServerState& state;
  const ResourcePtr services, definitions;

  // Makes the APIService of this group and version what it should be, if it is not that already.
  void Check(const std::string& group, const std::string& version);
  void CheckService(const json::Value& service) {
    if (ManagedBy(service) == kAlways)
      Check(std::string(service["spec"]["group"].string_or("")),
            std::string(service["spec"]["version"].string_or("")));
  }
  // Both are without their schemas; null: there is none.
  void CheckDefinition(const json::Value& now, const json::Value& before);
  void CheckAll();

 private:
  static Task<void> Make(std::shared_ptr<Follower> self, std::string group, std::string version);
  static Task<void> Mend(std::shared_ptr<Follower> self, std::string group, std::string version);
  static Task<void> Remove(std::shared_ptr<Follower> self, std::string name, std::string uid);
  RequestScope Scope() const {
    RequestScope scope = OwnScope(state);
    scope.resource = services;
    return scope;
  }
  static void Run(Task<void> task) { SpawnOwn(std::move(task), "following the APIServices"); }
  // What another writer has done meanwhile is no error: its change is seen, and checked, in its turn.
  static void Report(const Error& error, const std::string& name) {
    if (error.Is(Reason::kNotFound) || error.Is(Reason::kAlreadyExists) || error.Is(Reason::kConflict))
      return;
    log::Error("an APIService could not be kept", {{"name", name}, {"error", error.message()}});
  }
};

void ApiServices::Follower::Check(const std::string& group, const std::string& version) {
  const auto catalog = state.catalog.snapshot();
  const bool custom =
      std::any_of(catalog->ordered.begin(), catalog->ordered.end(), [&](const auto& resource) {
        return resource->custom && resource->kind->group == group && resource->kind->version == version;
      });
  const auto object = services->cache->Get(ServiceName(group, version));
  if (!object) {
    if (custom) Run(Make(shared_from_this(), group, version));
    return;
  }
  const json::Value service = object->ToValue();
  if (ManagedBy(service) != kAlways) return;
  if (!custom) return Run(Remove(shared_from_this(), object->name(), object->uid()));
  if (service["spec"] != LocalSpec(group, version)) Run(Mend(shared_from_this(), group, version));
}

void ApiServices::Follower::CheckDefinition(const json::Value& now, const json::Value& before) {
  std::set<std::pair<std::string_view, std::string_view>> versions;
  for (const json::Value* definition : {&now, &before}) {
    const auto& spec = (*definition)["spec"];
    if (!spec["versions"].is_array()) continue;
    for (const auto& version : spec["versions"].as_array())
      versions.emplace(spec["group"].string_or(""), version["name"].string_or(""));
  }
  for (const auto& [group, version] : versions) Check(std::string(group), std::string(version));
}

void ApiServices::Follower::CheckAll() {
  for (const auto& object : services->cache->List({}).objects) CheckService(object->ToValue());
  const auto catalog = state.catalog.snapshot();
  std::set<std::string> seen;
  for (const auto& resource : catalog->ordered) {
    const std::string group(resource->kind->group), version(resource->kind->version);
    if (resource->custom && seen.insert(ServiceName(group, version)).second) Check(group, version);
  }
}

Task<void> ApiServices::Follower::Make(std::shared_ptr<Follower> self, std::string group,
                                       std::string version) {
  RequestScope scope = self->Scope();
  auto object = DecodeValue(scope, *self->services, LocalService(group, version, kAlways));
  if (!object) co_return Report(object.error(), ServiceName(group, version));
  const auto made = co_await self->state.registry.Create(scope, *self->services, std::move(*object));
  if (!made) Report(made.error(), ServiceName(group, version));
}

Task<void> ApiServices::Follower::Mend(std::shared_ptr<Follower> self, std::string group,
                                       std::string version) {
  RequestScope scope = self->Scope();
  Registry::Transform transform = [group, version](const json::Value& current) -> Result<json::Value> {
    json::Value next = current;
    next["spec"] = LocalSpec(group, version);
    return next;
  };
  UpdateOptions options{.conflict_retries = true, .skip_admission = true};
  const std::string name = ServiceName(group, version);
  const auto mended = co_await self->state.registry.Update(scope, *self->services, "", name,
                                                           std::move(transform), std::move(options));
  if (!mended) Report(mended.error(), name);
}

Task<void> ApiServices::Follower::Remove(std::shared_ptr<Follower> self, std::string name, std::string uid) {
  RequestScope scope = self->Scope();
  DeleteOptions options;
  options.uid = std::move(uid);
  const auto removed =
      co_await self->state.registry.Delete(scope, *self->services, "", name, std::move(options));
  if (!removed) Report(removed.error(), name);
}

ApiServices::ApiServices(ServerState& state) : follower_(std::make_shared<Follower>(state)) {}

ApiServices::~ApiServices() = default;

void ApiServices::Start() {
  follower_->CheckAll();
  std::weak_ptr<Follower> weak = follower_;
  follower_->definitions->cache->Observe([weak](const Change& change) {
    const auto follower = weak.lock();
    if (!follower) return;
    // A version that went is known from the definition as it was.
    follower->CheckDefinition(WithoutSchemas(change.object), WithoutSchemas(change.previous));
  });
  follower_->services->cache->Observe([weak](const Change& change) {
    const auto& service = change.object ? change.object : change.previous;
    if (const auto follower = weak.lock()) follower->CheckService(service->ToValue());
  });
}

}  // namespace flyball::server
