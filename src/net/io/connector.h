// Connector: makes connected sockets to one origin, through a proxy if there is one.
#pragma once

#include <memory>
#include <string>

#include "base/run/executor.h"
#include "base/values/result.h"
#include "net/http/origin.h"
#include "net/io/io_loop.h"

namespace flyball::net {

// Thread-safe. Names are looked up on a thread of its own (the C library's resolver blocks), which starts
// when needed.
class Connector {
 public:
  // `proxy` null: directly.
  Connector(Origin origin, std::unique_ptr<Origin> proxy, Duration timeout);
  ~Connector();

  // Calls done on the loop with a connected, non-blocking socket that the callee owns, or with kConnection or
  // kTimeout. Tries every address of the host in turn. The time for the lookup counts.
  void Connect(std::shared_ptr<IoLoop> loop, UniqueFunction<void(Result<int>)> done);

 private:
  struct Attempt;
  void Resolve(const std::shared_ptr<Attempt>& attempt);

  const Origin origin_;
  const std::unique_ptr<const Origin> proxy_;
  const Duration timeout_;
  Mutex mu_;
  std::unique_ptr<ThreadPool> resolver_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::net
