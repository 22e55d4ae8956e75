// TransportCache: connections of the API server to nodes and pods, by URL.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "net/client/http_client.h"

namespace flyball::server {

// Thread-safe. Keeps the last kMost; what is dropped lives until its requests have ended.
class TransportCache {
 public:
  static constexpr std::size_t kMost = 64;

  // Certificates are not verified: nodes and pods make their own, as kube-apiserver has it where it is given
  // no CA for them.
  explicit TransportCache(net::ClientTls tls) : tls_(std::move(tls)) { tls_.insecure_skip_verify = true; }

  Result<std::shared_ptr<net::Transport>> To(const std::string& url);

 private:
  net::ClientTls tls_;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<net::Transport>> transports_ FLYBALL_GUARDED_BY(mu_);
  std::deque<std::string> order_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
