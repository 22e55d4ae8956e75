// NodeServer: the HTTPS endpoint of the nodes of this process, as kubelet's: /containerLogs, /exec, /attach,
// /portForward, /healthz, /pods, and what is used (/stats/summary, /metrics, /metrics/resource,
// /metrics/cadvisor). Each node has a port of its own, which says whose stats are asked for; pods of all
// nodes are found at each.
//
// Every caller proves who it is and needs the right to what it asks (caller_auth.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/observe/metrics.h"
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
  Metrics* metrics = nullptr;        // further ones that /metrics shows; null: none
};

// Thread-safe.
class NodeServer {
 public:
  // Listening when it returns.
  static Result<std::unique_ptr<NodeServer>> Start(const NodeServerOptions& options);
  ~NodeServer();

  // The port of the first node.
  int port() const;
  // A port for one more node: the first call returns that of the first.
  Result<int> NextPort();
  // Connections from now on are served with it.
  Status SetCertificate(const net::KeyPair& pair);
  // `port`: from NextPort.
  void Add(std::shared_ptr<PodSource> source, int port);
  void Remove(const std::shared_ptr<PodSource>& source);

 private:
  struct State;
  NodeServer(std::shared_ptr<State> state, std::string client_ca_pem,
             std::unique_ptr<net::HttpServer> server);
  const std::shared_ptr<State> state_;
  const std::string client_ca_pem_;
  const std::unique_ptr<net::HttpServer> server_;
  std::atomic<bool> first_taken_ = false;
};

}  // namespace flyball::node
