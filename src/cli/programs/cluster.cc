#include "cli/programs/cluster.h"

#include "base/run/notification.h"
#include "node/runtime/native_runtime.h"
#include "node/runtime/sim_runtime.h"

namespace flyball::cli {

Result<std::unique_ptr<Nodes>> Nodes::Start(
    const NodesOptions& options, Executor& executor,
    const std::function<Result<Client>(const std::string& name)>& client_of) {
  auto nodes = std::unique_ptr<Nodes>(new Nodes());
  const bool sim = options.runtime == "sim";
  if (sim) {
    nodes->runtime_ = node::NewSimRuntime(executor, Random::System());
  } else if (options.runtime == "native") {
    FLYBALL_ASSIGN(nodes->runtime_,
                   node::NewNativeRuntime({.data_dir = options.data_dir + "/node", .pod_ip = options.address},
                                          executor, Random::System()));
  } else {
    return Unexpected(
        BadRequest("unknown runtime \"" + options.runtime + "\": this program knows native and sim"));
  }
  FLYBALL_ASSIGN(nodes->server_, node::NodeServer::Start({.address = options.address,
                                                          .tls = {.client_ca_pem = options.client_ca_pem}}));
  for (const auto& name : options.names) {
    FLYBALL_ASSIGN(Client client, client_of(name));
    node::NodeAgentOptions agent{.name = name, .address = options.address};
    agent.capacity = sim ? node::SimCapacity() : node::MachineCapacity(options.data_dir);
    nodes->agents_.push_back(std::make_unique<node::NodeAgent>(std::move(client), *nodes->runtime_,
                                                               std::move(agent), nodes->server_.get()));
  }
  for (const auto& agent : nodes->agents_) agent->Start();
  return nodes;
}

Nodes::~Nodes() {
  for (const auto& agent : agents_) agent->Stop();
  // There is none if Start has failed.
  if (runtime_) runtime_->Shutdown();
}

void StopManager(Manager& manager) {
  const auto done = std::make_shared<Notification<bool>>();
  manager.Stop([done] { done->Set(true); });
  done->Wait();
}

}  // namespace flyball::cli
