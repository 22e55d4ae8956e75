// The parts of a cluster that are clients of the API: controllers, scheduler and nodes, each startable alone
// (over HTTPS) or all together in the API server's process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/values/result.h"
#include "client/client.h"
#include "client/runtime.h"
#include "controller/manager.h"
#include "node/agent/node_agent.h"
#include "node/runtime/runtime.h"
#include "node/streams/node_server.h"

namespace flyball::cli {

// Threads for controllers: machinery that never blocks, and workers that may.
class ClientThreads {
 public:
  ClientThreads() : machinery_("client", 1), workers_("worker", 8) {}
  Runtime runtime() { return {machinery_, Random::System(), metrics_, &workers_, true}; }
  Metrics& metrics() { return metrics_; }
  void Stop() {
    workers_.Stop();
    machinery_.Stop();
  }

 private:
  Metrics metrics_;
  ThreadPool machinery_, workers_;
};

struct NodesOptions {
  std::string runtime = "native";  // or "sim"
  std::string data_dir;
  std::vector<std::string> names;
  std::string address = "127.0.0.1";
  std::string client_ca_pem;  // who may ask for logs
};

// One or more nodes of one runtime, and the port their logs are served on. Thread-safe.
class Nodes {
 public:
  // `client_of` gives each node a client with its own identity.
  static Result<std::unique_ptr<Nodes>> Start(
      const NodesOptions& options, Executor& executor,
      const std::function<Result<Client>(const std::string& name)>& client_of);
  ~Nodes();

 private:
  Nodes() = default;
  // In this order: agents end before what they use.
  std::unique_ptr<node::ContainerRuntime> runtime_;
  std::unique_ptr<node::NodeServer> server_;
  std::vector<std::unique_ptr<node::NodeAgent>> agents_;
};

// Stops the manager and waits until it has.
void StopManager(Manager& manager);

}  // namespace flyball::cli
