#include "controllers/resourcequota/object_counts.h"

#include <utility>

namespace flyball::controllers {

Result<std::optional<KindRef>> ObjectCounts::Find(const std::string& group, const std::string& plural) {
  for (const bool again : {false, true}) {
    if (again) mapper_.Reset();  // a custom kind may have been added since
    FLYBALL_ASSIGN(const std::vector<ApiResource> all, mapper_.Resources());
    for (const ApiResource& resource : all)
      if (resource.ref.group == group && resource.ref.plural == plural && resource.ref.namespaced)
        return std::optional(resource.ref);
  }
  return std::optional<KindRef>();
}

SharedInformer<PartialObject> ObjectCounts::Follow(const KindRef& kind) {
  const auto informer = informers_.MetadataOnly(kind);
  MutexLock lock(mu_);
  auto& handler = followed_[kind.GroupResource()];
  if (handler) return informer;
  using Ptr = std::shared_ptr<const PartialObject>;
  const auto tell = [weak = weak_from_this()](const std::string& ns) {
    if (const auto self = weak.lock()) self->changed_(ns);
  };
  EventHandler<PartialObject> on;
  // A quota that counts quotas may be counted before it is in this cache itself. Of other kinds, admission
  // adds what is new.
  if (kind.group.empty() && kind.plural == "resourcequotas")
    on.on_add = [tell](const Ptr& object, bool) { tell(std::string(object->ns())); };
  on.on_delete = [tell](const Ptr& object, bool) { tell(std::string(object->ns())); };
  handler = informer.AddHandler(std::move(on));
  handler->OnSynced([tell] { tell(""); });
  return informer;
}

Result<std::optional<std::size_t>> ObjectCounts::Count(const std::string& group, const std::string& plural,
                                                       const std::string& ns) {
  FLYBALL_ASSIGN(const std::optional<KindRef> kind, Find(group, plural));
  if (!kind) return std::optional<std::size_t>(0);
  const auto informer = Follow(*kind);
  if (!informer.HasSynced()) return std::optional<std::size_t>();
  return std::optional(informer.lister().List(ns).size());
}

}  // namespace flyball::controllers
