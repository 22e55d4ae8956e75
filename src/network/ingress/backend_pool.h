// BackendPool: the endpoints behind one port of a Service, and connections to them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "base/run/mutex.h"
#include "net/http/http.h"
#include "net/io/io_loop.h"
#include "network/ingress/route_table.h"

namespace flyball::network {

// Connections by URL ("http://10.1.0.3:8080"), shared by all Services that lead there; they close when nobody
// uses the URL any more. Thread-safe.
class EndpointConnections {
 public:
  // All connections live on the loop, which outlives them.
  explicit EndpointConnections(std::shared_ptr<net::IoLoop> loop) : loop_(std::move(loop)) {}
  Result<std::shared_ptr<net::Transport>> To(const std::string& url);

 private:
  const std::shared_ptr<net::IoLoop> loop_;
  Mutex mu_;
  std::map<std::string, std::weak_ptr<net::Transport>> transports_ FLYBALL_GUARDED_BY(mu_);
};

// Thread-safe.
class BackendPool {
 public:
  void Set(std::vector<std::shared_ptr<net::Transport>> targets);
  // In turn; null if there is no endpoint.
  std::shared_ptr<net::Transport> Next();

 private:
  Mutex mu_;
  std::vector<std::shared_ptr<net::Transport>> targets_ FLYBALL_GUARDED_BY(mu_);
  std::size_t next_ FLYBALL_GUARDED_BY(mu_) = 0;
};

// The URLs of the endpoints that new requests may go to: ready, at the port that the Service gives this name
// or number. What they speak is the port's appProtocol: http by default, kubernetes.io/h2c, https,
// kubernetes.io/wss.
std::vector<std::string> EndpointUrls(const BackendRef& ref, const Service& service,
                                      const std::vector<std::shared_ptr<const EndpointSlice>>& slices);

}  // namespace flyball::network
