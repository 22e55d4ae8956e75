// Endpoint: something other than plain storage behind a resource or a subresource: reviews, bindings, scale,
// logs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/run/task.h"
#include "net/http/http.h"
#include "server/registry/server_state.h"
#include "server/request/answer.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Handles every verb that discovery lists for it. Thread-safe.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // The answer; or nullopt if the endpoint has answered on the stream itself (streams, WebSockets).
  virtual Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                                     const net::Request& request,
                                                     std::shared_ptr<net::ResponseStream> stream) = 0;
};

// By "plural.group/subresource" or "plural.group" for resources without storage; "*/scale" style patterns by
// subresource.
class EndpointTable {
 public:
  void Add(std::string key, std::unique_ptr<Endpoint> endpoint) {
    endpoints_[std::move(key)] = std::move(endpoint);
  }
  // The exact key first, then "*/<subresource>". Null if there is none.
  Endpoint* Find(const ServedResource& resource, std::string_view subresource) const;

 private:
  std::map<std::string, std::unique_ptr<Endpoint>, std::less<>> endpoints_;
};

}  // namespace flyball::server
