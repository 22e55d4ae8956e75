// NodeServer: the HTTPS endpoint of the nodes of this process, as kubelet's: /containerLogs, /exec, /attach,
// /portForward and /healthz.
//
// Only callers with a certificate of the client CA that names the API server's client or a cluster
// administrator may enter; everybody may ask /healthz.
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "net/server/http_server.h"
#include "node/pod/pod_source.h"

namespace flyball::node {

// The common name of the certificate the API server shows to nodes (upstream's usual one).
inline constexpr char kApiServerClientName[] = "kube-apiserver-kubelet-client";

struct NodeServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;        // kubelet's is 10250; 0: any free one
  net::ServerTls tls;  // client_ca_pem is the cluster's; without a certificate it makes its own, as kubelet
};

// Thread-safe.
class NodeServer {
 public:
  // Listening when it returns.
  static Result<std::unique_ptr<NodeServer>> Start(const NodeServerOptions& options);
  ~NodeServer();

  int port() const;
  void Add(std::shared_ptr<PodSource> source);
  void Remove(const std::shared_ptr<PodSource>& source);

 private:
  struct State;
  NodeServer(std::shared_ptr<State> state, std::unique_ptr<net::HttpServer> server);
  const std::shared_ptr<State> state_;
  const std::unique_ptr<net::HttpServer> server_;
};

}  // namespace flyball::node
