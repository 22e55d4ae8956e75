// TransportCache: connections of the API server to other servers (nodes, pods, API servers behind it), by URL
// and by how the server is verified.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "net/client/http_client.h"

namespace flyball::server {

// How one server is verified and spoken to.
struct ServerTrust {
  std::string ca_pem{};       // empty: the system's roots
  std::string server_name{};  // the name its certificate must have
  bool insecure = false;      // it is not verified
  bool http2 = true;          // if it speaks it too
};

// Thread-safe. Keeps the last kMost; what is dropped lives until its requests have ended.
class TransportCache {
 public:
  static constexpr std::size_t kMost = 64;

  // Without a CA in `tls` certificates are not verified: nodes and pods make their own, as kube-apiserver has
  // it where it is given none.
  explicit TransportCache(net::ClientTls tls) : tls_(std::move(tls)) {
    tls_.insecure_skip_verify = tls_.ca_pem.empty();
  }

  Result<std::shared_ptr<net::Transport>> To(const std::string& url);
  // To a server that is verified in its own way.
  Result<std::shared_ptr<net::Transport>> To(const std::string& url, const ServerTrust& trust);
  // Connections made from now on present this certificate.
  void SetCertificate(const std::string& certificate_pem, const std::string& key_pem);

 private:
  Result<std::shared_ptr<net::Transport>> Find(const std::string& key, const std::string& url,
                                               const ServerTrust* trust);

  Mutex mu_;
  net::ClientTls tls_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<net::Transport>> transports_ FLYBALL_GUARDED_BY(mu_);
  std::deque<std::string> order_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
