// LogServer: the node's own HTTPS port, on which the API server fetches logs (upstream: the kubelet's
// /containerLogs).
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "net/http_server.h"
#include "node/node_agent.h"

namespace flyball::node {

struct LogServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;
  // Clients must have a certificate of this CA and be the API server or an administrator.
  std::string client_ca_pem;
};

// Listens with a certificate of its own making, as the kubelet does by default. Find() names the agent that
// has the pod. Thread-safe; the agents outlive it.
class LogServer {
 public:
  using FindLog = std::function<Result<std::string>(const std::string& namespace_name, const std::string& pod,
                                                    const std::string& container, bool previous)>;
  static Result<std::unique_ptr<LogServer>> Start(const LogServerOptions& options, Executor& executor,
                                                  FindLog find);
  virtual ~LogServer() = default;
  virtual int port() const = 0;
};

// The client's common name the API server uses towards nodes, and its group.
inline constexpr std::string_view kNodeClientUser = "kube-apiserver-kubelet-client";

}  // namespace flyball::node
