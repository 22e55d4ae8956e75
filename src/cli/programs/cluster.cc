#include "cli/programs/cluster.h"

#include "api/values/quantity.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "node/runtime/native_runtime.h"
#include "node/runtime/sim_runtime.h"

namespace flyball::cli {
namespace {

// As kubelet names them. Simulated nodes have no machine to keep anything on: they join anew each time.
std::string CertificatePath(const NodesOptions& options, const std::string& node, const std::string& name) {
  if (options.runtime == "sim") return {};
  return options.data_dir + "/node/pki/" + node + "/" + name + "-current.pem";
}

}  // namespace

void AddLogFlags(CLI::App& command, LogFlags& flags) {
  command
      .add_option("--container-log-max-size", flags.max_size,
                  "Size at which a container's log is rotated, such as 10Mi")
      ->capture_default_str();
  command
      .add_option("--container-log-max-files", flags.max_files,
                  "How many files of a container's log are kept, with the current one")
      ->capture_default_str();
}

Result<node::LogLimits> LogLimitsOf(const LogFlags& flags) {
  const auto size = api::Quantity::Parse(flags.max_size);
  if (!size || size->Value() <= 0)
    return Unexpected(
        BadRequest("--container-log-max-size: \"" + flags.max_size + "\" is not a size such as 10Mi"));
  if (flags.max_files < 2)
    return Unexpected(BadRequest("--container-log-max-files: invalid MaxFiles " +
                                 std::to_string(flags.max_files) + ", must be > 1"));
  return node::LogLimits{size->Value(), flags.max_files};
}

void CurrentCertificate::Set(const net::KeyPair& pair) {
  MutexLock lock(mu_);
  base_.certificate_pem = pair.certificate_pem;
  base_.private_key_pem = pair.private_key_pem;
  changed_ = true;
}

std::string CurrentCertificate::certificate_pem() const {
  MutexLock lock(mu_);
  return base_.certificate_pem;
}

Result<std::optional<net::ClientTls>> CurrentCertificate::Changed() {
  MutexLock lock(mu_);
  if (!std::exchange(changed_, false)) return std::optional<net::ClientTls>();
  return std::optional(base_);
}

Result<std::unique_ptr<Nodes>> Nodes::Start(
    const NodesOptions& options, Executor& executor,
    const std::function<Result<NodeConnection>(const std::string& name)>& connect) {
  auto nodes = std::unique_ptr<Nodes>(new Nodes());
  const bool sim = options.runtime == "sim";
  FLYBALL_ASSIGN(const node::LogLimits logs, LogLimitsOf(options.logs));
  if (sim) {
    nodes->runtime_ = node::NewSimRuntime(executor, Random::System());
  } else if (options.runtime == "native") {
    FLYBALL_ASSIGN(nodes->runtime_, node::NewNativeRuntime({.data_dir = options.data_dir + "/node",
                                                            .pod_ip = options.address,
                                                            .log_limits = logs},
                                                           executor, Random::System()));
  } else {
    return Unexpected(
        BadRequest("unknown runtime \"" + options.runtime + "\": this program knows native and sim"));
  }
  for (const auto& name : options.names) {
    FLYBALL_ASSIGN(NodeConnection connection, connect(name));
    nodes->connections_.push_back(std::move(connection));
  }
  // One server for all of them: each of them may ask who a caller is.
  FLYBALL_ASSIGN(nodes->server_, node::NodeServer::Start(
                                     {.address = options.address,
                                      .tls = {.client_ca_pem = options.client_ca_pem},
                                      .auth = node::NewDelegatedAuth(nodes->connections_.front().client)}));
  for (std::size_t i = 0; i < options.names.size(); ++i) {
    node::NodeAgentOptions agent{.name = options.names[i], .address = options.address};
    agent.capacity = sim ? node::SimCapacity() : node::MachineCapacity(options.data_dir);
    agent.remove_not_ready_taint = options.remove_not_ready_taint;
    agent.wait_for_serving = options.serving_certificate && options.wait_for_serving && !sim;
    nodes->agents_.push_back(std::make_unique<node::NodeAgent>(
        nodes->connections_[i].client, *nodes->runtime_, std::move(agent), nodes->server_.get()));
  }
  if (options.serving_certificate) nodes->Serve(options);
  for (std::size_t i = 0; i < options.names.size(); ++i) nodes->Join(options, i);
  return nodes;
}

// Starts the agent, with the node's certificate if it has to have one.
void Nodes::Join(const NodesOptions& options, std::size_t index) {
  const NodeConnection& connection = connections_[index];
  node::NodeAgent& agent = *agents_[index];
  if (!connection.joining) return agent.Start();
  const auto ask_with = [connection]() -> Client {
    const auto info = net::ParseCertificate(connection.certificate->certificate_pem());
    const bool good = info && connection.client.runtime().clock().Now() < info->not_after;
    return good ? connection.client : *connection.joining;
  };
  const auto use = [certificate = connection.certificate, &agent](const net::KeyPair& pair) {
    certificate->Set(pair);
    agent.Start();
  };
  certificates_.push_back(std::make_shared<node::CertificateManager>(
      node::NodeClientCertificate(options.names[index],
                                  CertificatePath(options, options.names[index], "kubelet-client")),
      ask_with, use));
  certificates_.back()->Start();
}

// The certificate of the server, which the first of the nodes asks for when it has registered: who approves
// it looks at the node's addresses.
void Nodes::Serve(const NodesOptions& options) {
  const auto use = [this](const net::KeyPair& pair) {
    if (const Status set = server_->SetCertificate(pair); !set)
      return log::Error("serving certificate cannot be used", {{"error", set.error().message()}});
    for (const auto& agent : agents_) agent->SetServing();
  };
  auto manager = std::make_shared<node::CertificateManager>(
      node::NodeServingCertificate(options.names.front(), options.address,
                                   CertificatePath(options, options.names.front(), "kubelet-server")),
      [client = connections_.front().client] { return client; }, use);
  agents_.front()->OnRegistered([weak = std::weak_ptr<node::CertificateManager>(manager)] {
    if (const auto alive = weak.lock()) alive->Start();
  });
  certificates_.push_back(std::move(manager));
}

Nodes::~Nodes() {
  for (const auto& certificate : certificates_) certificate->Stop();
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
