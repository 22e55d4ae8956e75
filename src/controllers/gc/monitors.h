// Monitors: one metadata-only cache per kind, for as long as the kind is served. All feed one graph.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "client/client.h"
#include "client/discovery.h"
#include "controllers/gc/object_graph.h"
#include "informer/shared_informer.h"

namespace flyball::controllers {

// Thread-safe. Must be owned by a shared_ptr. Destroying it stops the caches.
class Monitors : public std::enable_shared_from_this<Monitors> {
 public:
  using LookAt = std::function<void(const ObjectGraph::Uids&)>;

  // `look_at` is called with the objects that a change made worth looking at. It must not block.
  Monitors(Client client, ObjectGraph& graph, LookAt look_at)
      : client_(std::move(client)), graph_(graph), look_at_(std::move(look_at)) {}
  ~Monitors();

  // Starts missing caches and stops those of kinds that are no longer served.
  void Follow(const std::vector<ApiResource>& kinds);
  // Every cache has been filled: an object that is not in the graph does not exist, as far as anyone knows.
  bool HasSynced() const;
  // Calls fn whenever HasSynced becomes true. Set before Follow.
  void OnSynced(std::function<void()> fn) { synced_ = std::move(fn); }

 private:
  struct Monitor {
    std::shared_ptr<InformerCore> informer;
    std::shared_ptr<HandlerRegistration> handler;
  };
  Monitor Start(const KindRef& kind);

  const Client client_;
  ObjectGraph& graph_;
  const LookAt look_at_;
  std::function<void()> synced_;
  mutable Mutex mu_;
  std::map<std::string, Monitor> monitors_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::controllers
