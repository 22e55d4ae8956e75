// NodeServer: the HTTPS endpoint of the nodes of this process, as kubelet's: /containerLogs, /exec, /attach,
// /portForward and /healthz.
//
// Every caller proves who it is and needs the right to what it asks (caller_auth.h).
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "net/server/http_server.h"
#include "net/tls/pki.h"
#include "node/pod/pod_source.h"
#include "node/streams/caller_auth.h"

namespace flyball::node {

struct NodeServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;        // kubelet's is 10250; 0: any free one
  net::ServerTls tls;  // client_ca_pem is the cluster's; without a certificate it makes its own, as kubelet
  std::shared_ptr<CallerAuth> auth;  // who may call; required
};

// Thread-safe.
class NodeServer {
 public:
  // Listening when it returns.
  static Result<std::unique_ptr<NodeServer>> Start(const NodeServerOptions& options);
  ~NodeServer();

  int port() const;
  // Connections from now on are served with it.
  Status SetCertificate(const net::KeyPair& pair);
  void Add(std::shared_ptr<PodSource> source);
  void Remove(const std::shared_ptr<PodSource>& source);

 private:
  struct State;
  NodeServer(std::shared_ptr<State> state, std::string client_ca_pem,
             std::unique_ptr<net::HttpServer> server);
  const std::shared_ptr<State> state_;
  const std::string client_ca_pem_;
  const std::unique_ptr<net::HttpServer> server_;
};

}  // namespace flyball::node
