// RemoteCalls: requests to other servers (token issuers, webhooks) that requests of ours wait for. They are
// bounded in number, time and size, they never block a thread, and Stop ends all of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/run/clock.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::server {

struct RemoteLimits {
  Duration timeout = std::chrono::seconds(30);
  std::size_t max_response_bytes = 1u << 20;
};

// Thread-safe. Calls may still be under way when it goes, if Stop came before.
class RemoteCalls {
 public:
  // More than this many at once are refused: a slow server cannot pile up requests without end.
  static constexpr std::size_t kMostCalls = 1000;

  RemoteCalls();
  ~RemoteCalls();  // as Stop

  // The whole response, whatever its status; resumes on `resume`. kTimeout, kConnection, kCancelled (stopped)
  // or TooManyRequests otherwise, and kUnknown if the response is too large.
  Task<Result<net::Response>> Fetch(std::shared_ptr<net::Transport> transport, net::Request request,
                                    RemoteLimits limits, Executor& resume);
  // kCancelled if Stop comes first.
  Task<Status> Wait(Duration delay, Executor& resume);
  // Ends what is under way with kCancelled; what comes later fails at once. Idempotent.
  void Stop();

 private:
  class Pending;
  class Calls;
  using Begin = UniqueFunction<void(const std::shared_ptr<Pending>&)>;

  // Waits for what `begin` starts; after `limit` it ends with `late`.
  Task<Result<net::Response>> Run(Begin begin, Duration limit, Result<net::Response> late,
                                  Executor& resume) const;

  const std::shared_ptr<Calls> calls_;
};

}  // namespace flyball::server
