#include "node/agent/node_agent.h"

#include "node/agent/node_agent_core.h"
#include "node/streams/node_server.h"

namespace flyball::node {

NodeAgent::NodeAgent(Client client, ContainerRuntime& runtime, NodeAgentOptions options, NodeServer* server)
    : core_(std::make_shared<Core>(std::move(client), runtime, std::move(options),
                                   server ? server->port() : 0)),
      server_(server) {
  if (server_) server_->Add(core_);
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
