#include "cli/cluster.h"

#include "base/notification.h"

namespace flyball::cli {

Result<std::unique_ptr<Nodes>> Nodes::Start(
    const NodesOptions& options, Executor& executor,
    const std::function<Result<Client>(const std::string& name)>& client_of) {
  auto nodes = std::unique_ptr<Nodes>(new Nodes());
  if (options.runtime == "sim") {
    nodes->runtime_ = node::NewSimRuntime(executor);
  } else if (options.runtime == "native") {
    FLYBALL_ASSIGN(nodes->runtime_,
                   node::NewNativeRuntime(executor, options.data_dir + "/pods", options.address));
  } else {
    return Unexpected(
        BadRequest("unknown runtime \"" + options.runtime + "\": this program knows native and sim"));
  }
  auto* raw = nodes.get();
  const auto find = [raw](const std::string& space, const std::string& pod, const std::string& container,
                          bool previous) -> Result<std::string> {
    Result<std::string> found = Unexpected(Error(Reason::kNotFound, "pod \"" + pod + "\" is not here"));
    for (const auto& agent : raw->agents_) {
      found = agent->LogFile(space, pod, container, previous);
      if (found || !found.error().Is(Reason::kNotFound)) break;
    }
    return found;
  };
  FLYBALL_ASSIGN(nodes->logs_,
                 node::LogServer::Start({options.address, 0, options.client_ca_pem}, executor, find));
  for (const auto& name : options.names) {
    FLYBALL_ASSIGN(Client client, client_of(name));
    node::NodeOptions node_options;
    node_options.name = name;
    node_options.address = options.address;
    node_options.log_port = nodes->logs_->port();
    nodes->agents_.push_back(
        std::make_unique<node::NodeAgent>(std::move(client), *nodes->runtime_, node_options));
  }
  for (const auto& agent : nodes->agents_) agent->Start();
  return nodes;
}

Nodes::~Nodes() {
  for (const auto& agent : agents_) agent->Stop();
  logs_.reset();
}

void StopManager(Manager& manager) {
  const auto done = std::make_shared<Notification<bool>>();
  manager.Stop([done] { done->Set(true); });
  done->Wait();
}

}  // namespace flyball::cli
