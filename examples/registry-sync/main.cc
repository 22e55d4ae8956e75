// Keeps Services, Endpoints and Namespaces in step with an external service registry over HTTP, one way: the
// cluster is right. Two controllers compare what the lister says with what the registry is known to hold, and
// create, update or delete the difference; a third looks whether somebody changed the registry. See
// README.md.
#include <flyball/sdk.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "registry.h"

using namespace flyball;  // NOLINT(google-build-using-namespace): the SDK is what this program is made of

// Registries change without telling us.
constexpr auto kRefreshEvery = 2s;

// Makes the registry's record of `path` be `want`; nothing: there should be none. The whole decision.
Status Sync(Registry& registry, const std::string& path, const std::optional<json::Value>& want) {
  const auto have = registry.Cached(path);
  if (!want) return have ? registry.Delete(path) : Status();
  if (have && *have == *want) return {};
  return registry.Put(path, *want);
}

json::Value Instances(const Endpoints& endpoints) {
  json::Array instances;
  for (const EndpointSubset& subset : endpoints.subsets)
    for (const EndpointPort& port : subset.ports) {
      const auto add = [&](const EndpointAddress& address, bool healthy) {
        instances.push_back(json::Object{{"host", address.ip}, {"port", port.port}, {"healthy", healthy}});
      };
      for (const EndpointAddress& address : subset.addresses) add(address, true);
      for (const EndpointAddress& address : subset.not_ready_addresses) add(address, false);
    }
  return json::Value(std::move(instances));
}

// The record of a Service: what it promises (ports, labels) and who keeps the promise (instances).
json::Value RecordOf(const Service& service, const Endpoints* endpoints) {
  json::Array ports;
  for (const ServicePort& port : service.spec.ports)
    ports.push_back(json::Object{{"name", port.name}, {"port", port.port}, {"protocol", port.protocol}});
  json::Object labels;
  for (const auto& [name, value] : service.metadata.labels) labels.Set(name, value);
  return json::Value(
      json::Object{{"ports", std::move(ports)},
                   {"labels", std::move(labels)},
                   {"instances", endpoints ? Instances(*endpoints) : json::Value(json::Array{})}});
}

Result<Action> ReconcileService(const ObjectKey& key, Context& ctx, Registry& registry) {
  const auto service = ctx.lister<Service>().Get(key);
  const auto endpoints = ctx.lister<Endpoints>().Get(key);
  std::optional<json::Value> want;
  if (service && !IsDeleting(service->metadata)) want = RecordOf(*service, endpoints.get());
  FLYBALL_TRY(Sync(registry, "services/" + key.ToString(), want));
  return Done();
}

Result<Action> ReconcileNamespace(const ObjectKey& key, Context& ctx, Registry& registry) {
  const auto ns = ctx.lister<Namespace>().Get(key);
  std::optional<json::Value> want;
  if (ns && !IsDeleting(ns->metadata)) want = json::Value(json::Object{{"name", key.name}});
  FLYBALL_TRY(Sync(registry, "namespaces/" + key.name, want));
  return Done();
}

// Hands what differs, "services/shop/web" or "namespaces/shop", to whoever is responsible.
void Dispatch(const std::string& path, Controller& services, Controller& namespaces) {
  const std::size_t slash = path.find('/');
  const ObjectKey key = ObjectKey::Parse(path.substr(slash + 1));
  (path.starts_with("services/") ? services : namespaces).Enqueue(key);
}

Status SetUp(Manager& manager, std::unique_ptr<Registry>& registry) {
  const char* url = std::getenv("REGISTRY_URL");
  FLYBALL_ASSIGN(registry, Registry::Connect(url ? url : "http://127.0.0.1:8500", manager.runtime()));
  std::shared_ptr<Controller> services, namespaces;
  FLYBALL_TRY(manager.For<Service>()
                  .Watches<Endpoints>([](const Endpoints& endpoints) {
                    return std::vector{ObjectKey{endpoints.metadata.namespace_, endpoints.metadata.name}};
                  })
                  .Workers(2)
                  .Reconcile([&registry](const ObjectKey& key,
                                         Context& ctx) { return ReconcileService(key, ctx, *registry); },
                             &services));
  FLYBALL_TRY(manager.For<Namespace>().Reconcile(
      [&registry](const ObjectKey& key, Context& ctx) { return ReconcileNamespace(key, ctx, *registry); },
      &namespaces));
  // What we registered in an earlier life and is gone from the cluster no event will tell of.
  for (const std::string& path : registry->CachedPaths("")) Dispatch(path, *services, *namespaces);

  const auto refresh = manager.AddController(
      {.name = "refresh"}, [&registry, services, namespaces](const ObjectKey&, Context&) -> Result<Action> {
        FLYBALL_ASSIGN(const auto changed, registry->Refresh());
        for (const std::string& path : changed) Dispatch(path, *services, *namespaces);
        return RequeueAfter(kRefreshEvery);
      });
  refresh->Enqueue({"", "registry"});
  return {};
}

int main(int argc, char** argv) {
  std::unique_ptr<Registry> registry;
  return Main(argc, argv, [&registry](Manager& manager) { return SetUp(manager, registry); });
}
