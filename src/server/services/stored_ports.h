// StoredPorts: the node ports in use, as all API servers on a store agree on them: one stored object, which
// each write that takes or gives back ports replaces (upstream: RangeAllocation, key
// ranges/servicenodeports).
#pragma once

#include <memory>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "json/value.h"
#include "server/services/port_bitmap.h"
#include "store/store.h"

namespace flyball::server {

// Knows the stored object by a watch, so reading it does not block: whoever was told of a conflict finds the
// newer one here. Thread-safe; the store and the executor must outlive it.
class StoredPorts {
 public:
  // Blocks until it is read.
  static Result<std::unique_ptr<StoredPorts>> Open(store::Store& store, Executor& executor, PortRange range);
  ~StoredPorts();

  struct State {
    PortBitmap ports;
    store::Revision revision = 0;  // 0: nothing is stored
    bool same_range = true;        // false: what is stored is of another range, and `ports` is empty
  };
  State state() const;
  // Replaces what was stored when `seen` was read.
  store::Operation Replace(const State& seen, const PortBitmap& ports) const;

 private:
  class Follower;
  explicit StoredPorts(std::shared_ptr<Follower> follower) : follower_(std::move(follower)) {}
  const std::shared_ptr<Follower> follower_;
};

}  // namespace flyball::server
