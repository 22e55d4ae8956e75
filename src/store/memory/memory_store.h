// The `memory` engine: deterministic, for tests and simulation. Every call completes inline on the calling
// thread; only what a watch's sink commits waits until the delivery it is called from is over.
//
// History older than five minutes goes with the next commit.
#pragma once

#include <memory>

#include "base/run/executor.h"
#include "store/store.h"

namespace flyball::store {

// Time-to-live timers run on `executor`, which must outlive the store.
std::unique_ptr<Store> NewMemoryStore(Executor& executor);

}  // namespace flyball::store
