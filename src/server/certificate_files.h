// CertificateFiles: the files of certificates and authorities that users give the server, followed while it
// runs (upstream: dynamic certificates): a new serving certificate is shown to new connections, a new client
// CA counts from the next request on, also on open connections.
#pragma once

#include <string>
#include <vector>

#include "base/run/file_watcher.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "net/server/http_server.h"
#include "server/api_server.h"
#include "server/serving.h"

namespace flyball::server {

// Reads the requestheader CA into `pki`, and sets whom the server is to trust. Without one, proxies are those
// of the server's own front-proxy CA, which names users by the standard headers.
Status PrepareTrust(Pki& pki, AuthenticationOptions& authentication);

// The files of --proxy-client-*. BadRequest if one is missing, or the key is not the certificate's.
Result<net::KeyPair> ReadProxyClient(const ServingOptions& serving);

// Thread-safe.
class CertificateFiles {
 public:
  // All of them outlive this.
  CertificateFiles(const ServingOptions& serving, const Pki& pki, const AuthenticationOptions& authentication,
                   net::HttpServer& http, ApiServer& api);
  // Reloads when a file changes. Requires that `files` is stopped before this goes.
  Status Follow(FileWatcher& files);
  // The serving certificate that our own CA has issued from now on; nothing if it is the user's.
  Status SetServing(const net::KeyPair& pair);
  // Reads the files again. What is no good is logged, and what was good stays in force.
  void Reload();

 private:
  Status TryReload() FLYBALL_REQUIRES(mu_);

  const ServingOptions serving_;
  const AuthenticationOptions authentication_;
  const std::string own_ca_, own_proxy_ca_;
  net::HttpServer& http_;
  ApiServer& api_;
  Mutex mu_;
  net::ServerTls current_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
