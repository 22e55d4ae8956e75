// RemoteClient: how the API server reaches the API servers behind it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/random.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "net/http/http.h"
#include "server/aggregation/remote_api.h"
#include "server/auth/remote/remote_calls.h"
#include "server/catalog/catalog.h"
#include "server/forward/transport_cache.h"
#include "server/request/user.h"

namespace flyball::server {

// Thread-safe. The catalog and the random numbers are there until Stop.
class RemoteClient {
 public:
  // `certificate_pem` and `key_pem`: of the front-proxy client, by which other servers know that they may
  // believe what this one says of its users; empty: none.
  RemoteClient(const Catalog& catalog, Random& random, const std::string& certificate_pem,
               const std::string& key_pem);

  // From now on the Service is this transport: a server in this process, which is always there.
  void AddLocal(const std::string& service_namespace, const std::string& service_name,
                std::shared_ptr<net::Transport> transport);
  // Null if it is not in this process.
  std::shared_ptr<net::Transport> LocalOf(const RemoteApi& api) const;
  // "https://host:port" of one of the endpoints of its Service; ResolveService says which errors there are.
  Result<std::string> Resolve(const RemoteApi& api) const;
  // Connections to that URL, verified as the APIService says. An error if its certificates are unusable.
  Result<std::shared_ptr<net::Transport>> Connect(const RemoteApi& api, const std::string& url) const;
  // The whole response to a GET as `user`, whatever its status.
  Task<Result<net::Response>> Get(const RemoteApi& api, std::string url, std::string path,
                                  net::Headers headers, const User& user, RemoteLimits limits,
                                  Executor& executor);
  // Connections made from now on present this certificate.
  void SetCertificate(const std::string& certificate_pem, const std::string& key_pem);
  // Ends what is under way, and what comes later at once. The catalog may go afterwards.
  void Stop();

 private:
  const Catalog& catalog_;
  Random& random_;
  const std::shared_ptr<TransportCache> transports_;
  RemoteCalls calls_;
  mutable Mutex mu_;
  std::map<std::string, std::shared_ptr<net::Transport>> local_
      FLYBALL_GUARDED_BY(mu_);  // by "namespace/name"
  std::atomic<bool> stopped_{false};
};

}  // namespace flyball::server
