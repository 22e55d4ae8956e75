#include "controller/objects/served_kinds.h"

#include <algorithm>
#include <set>
#include <utility>

namespace flyball::controllers {
namespace {

const KindRef kCustomResourceDefinitions{"apiextensions.k8s.io", "v1", "CustomResourceDefinition",
                                         "customresourcedefinitions", false};

bool HasVerb(const ApiResource& resource, std::string_view verb) {
  return std::find(resource.verbs.begin(), resource.verbs.end(), verb) != resource.verbs.end();
}

}  // namespace

std::shared_ptr<ServedKinds> ServedKinds::Make(Manager& manager) {
  const auto definitions = manager.informers().MetadataOnly(kCustomResourceDefinitions);
  auto kinds = std::make_shared<ServedKinds>(manager.client(), definitions);
  const auto reset = [weak = std::weak_ptr<ServedKinds>(kinds)] {
    const auto self = weak.lock();
    if (!self) return;
    self->mapper_.Reset();
    if (self->changed_) self->changed_();
  };
  using Ptr = std::shared_ptr<const PartialObject>;
  EventHandler<PartialObject> handler;
  handler.on_add = [reset](const Ptr&, bool) { reset(); };
  handler.on_update = [reset](const Ptr&, const Ptr&) { reset(); };
  handler.on_delete = [reset](const Ptr&, bool) { reset(); };
  definitions.AddHandler(std::move(handler));
  return kinds;
}

bool ServedKinds::MissesAny(const std::vector<ApiResource>& kinds) const {
  std::set<std::string> listed;
  for (const ApiResource& resource : kinds) listed.insert(resource.ref.GroupResource());
  const auto all = definitions_.lister().List();
  return std::any_of(all.begin(), all.end(), [&](const auto& definition) {
    return !listed.contains(std::string(definition->name()));
  });
}

Result<std::vector<ApiResource>> ServedKinds::Deletable() {
  FLYBALL_ASSIGN(std::vector<ApiResource> all, mapper_.Resources());
  if (MissesAny(all)) {
    mapper_.Reset();
    FLYBALL_ASSIGN(all, mapper_.Resources());
  }
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(all, [&](const ApiResource& resource) {
    if (!HasVerb(resource, "delete") || !HasVerb(resource, "list")) return true;
    return !seen.emplace(resource.ref.group, resource.ref.plural).second;
  });
  return all;
}

Result<KindRef> ServedKinds::Find(std::string_view api_version, std::string_view kind) {
  const auto [group, version] = SplitApiVersion(api_version);
  return mapper_.ForKind(group, version, kind);
}

}  // namespace flyball::controllers
