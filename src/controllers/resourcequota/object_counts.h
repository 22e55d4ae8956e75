// ObjectCounts: how many objects of a kind a namespace has, for any kind that a quota names
// ("count/widgets.example.com").
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/run/mutex.h"
#include "client/discovery.h"
#include "controller/manager.h"

namespace flyball::controllers {

// One metadata-only cache per kind, started on first use: kinds that no quota names are not watched.
// Thread-safe. Must be owned by a shared_ptr.
class ObjectCounts : public std::enable_shared_from_this<ObjectCounts> {
 public:
  // `changed` is called with a namespace when objects were deleted from it, and with "" when the counts of a
  // kind have become known. It must not block.
  using Changed = std::function<void(const std::string& ns)>;
  ObjectCounts(Manager& manager, Changed changed)
      : informers_(manager.informers()), mapper_(manager.client()), changed_(std::move(changed)) {}

  // nullopt while it is not known yet; zero for a kind that is not served. Blocks for discovery the first
  // time.
  Result<std::optional<std::size_t>> Count(const std::string& group, const std::string& plural,
                                           const std::string& ns);

 private:
  Result<std::optional<KindRef>> Find(const std::string& group, const std::string& plural);
  SharedInformer<PartialObject> Follow(const KindRef& kind);

  InformerFactory& informers_;
  RestMapper mapper_;
  const Changed changed_;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<HandlerRegistration>> followed_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::controllers
