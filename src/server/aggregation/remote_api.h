// RemoteApi: a group version that another server serves, as its APIService says it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/wire/discovery.h"
#include "base/run/mutex.h"
#include "json/value.h"
#include "server/forward/transport_cache.h"
#include "server/request/request_info.h"

namespace flyball::server {

struct RemoteApi {
  std::string name;  // of the APIService: "v1beta1.metrics.k8s.io"
  std::string group, version;
  std::string service_namespace, service_name;
  std::int64_t port = 443;
  ServerTrust trust;
  api::DiscoveryPriority priority;
  bool available = false;  // what the condition Available says

  // "/apis/<group>/<version>", or "/api/v1".
  std::string Path() const;
};
using RemoteApiPtr = std::shared_ptr<const RemoteApi>;

// Null: this server serves it itself.
RemoteApiPtr ReadRemoteApi(const json::Value& api_service);

// Those there are. Thread-safe; costs requests next to nothing while there are none.
class RemoteApis {
 public:
  // Null: there is none of that name any more.
  void Set(const std::string& name, RemoteApiPtr api);
  RemoteApiPtr Get(const std::string& name) const;
  // The one that answers the request: its group version's resources, discovery or OpenAPI v3 document. Null
  // if this server does.
  RemoteApiPtr Find(const RequestInfo& info) const;
  bool any() const { return any_; }
  // The names of those that are served by a Service.
  std::vector<std::string> ServedBy(std::string_view service_namespace, std::string_view service_name) const;

 private:
  RemoteApiPtr FindVersion(std::string_view group, std::string_view version) const;

  mutable Mutex mu_;
  std::map<std::string, RemoteApiPtr, std::less<>> apis_ FLYBALL_GUARDED_BY(mu_);
  std::atomic<bool> any_{false};
};

}  // namespace flyball::server
