#include "node/agent/node_agent.h"

#include "base/observe/log.h"
#include "node/agent/node_agent_core.h"
#include "node/streams/node_server.h"

namespace flyball::node {
namespace {

// Nodes that cannot have a port of their own share that of the first.
int PortOf(NodeServer* server) {
  if (!server) return 0;
  const auto port = server->NextPort();
  if (port) return *port;
  log::Warning("no port for the server of a node, it shares that of the first",
               {{"error", port.error().message()}});
  return server->port();
}

}  // namespace

NodeAgent::NodeAgent(Client client, ContainerRuntime& runtime, NodeAgentOptions options, NodeServer* server)
    : NodeAgent(std::move(client), runtime, std::move(options), server, PortOf(server)) {}

NodeAgent::NodeAgent(Client client, ContainerRuntime& runtime, NodeAgentOptions options, NodeServer* server,
                     int port)
    : core_(std::make_shared<Core>(std::move(client), runtime, std::move(options), port)), server_(server) {
  if (server_) server_->Add(core_, port);
}

NodeAgent::~NodeAgent() {
  Stop();
}

void NodeAgent::Start() {
  core_->Start();
}

void NodeAgent::Stop() {
  if (server_) server_->Remove(core_);
  core_->Stop();
}

void NodeAgent::OnRegistered(std::function<void()> fn) {
  core_->OnRegistered(std::move(fn));
}

void NodeAgent::SetServing() {
  core_->SetServing();
}

bool NodeAgent::ready() const {
  return core_->ready();
}

void NodeAgent::OnReady(std::function<void()> fn) {
  core_->OnReady(std::move(fn));
}

}  // namespace flyball::node
