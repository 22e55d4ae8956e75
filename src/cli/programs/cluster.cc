#include "cli/programs/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "api/values/quantity.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "cli/programs/controller_accounts.h"
#include "cli/programs/node_join.h"
#include "cli/programs/server_process.h"
#include "controllers/controllers.h"
#include "node/oci/node_runtime.h"
#include "node/runtime/sim_runtime.h"
#include "node/volumes/local_path_provisioner.h"
#include "scheduler/scheduler.h"
#include "server/endpoints/component_status.h"

namespace flyball::cli {
namespace {

// As kubelet names them. Simulated nodes have no machine to keep anything on: they join anew each time.
std::string CertificatePath(const NodesOptions& options, const std::string& node, const std::string& name) {
  if (options.runtime == "sim") return {};
  return options.data_dir + "/node/pki/" + node + "/" + name + "-current.pem";
}

// Off by default in kube-controller-manager, part of "*" here: nodes join by bootstrap tokens and are called
// with certificates that the cluster signs.
constexpr std::array<const char*, 3> kOnHere = {"bootstrap-signer-controller", "token-cleaner-controller",
                                                "kubelet-serving-certificate-approving-controller"};

Result<std::vector<std::string>> EnabledControllers(const std::string& text) {
  FLYBALL_ASSIGN(std::vector<std::string> enabled, controllers::ParseControllers(text));
  if (std::find(enabled.begin(), enabled.end(), "*") != enabled.end())
    enabled.insert(enabled.end(), kOnHere.begin(), kOnHere.end());
  return enabled;
}

// A node of this process: without sockets, but with its own certificate.
NodeConnection ConnectNode(ServerProcess& server, ClientThreads& threads, const Client& joining) {
  auto certificate = std::make_shared<CurrentCertificate>();
  std::shared_ptr<net::Transport> transport = server.api().InProcess(
      [certificate] { return certificate->certificate_pem(); }, server.pki().client_ca_pem);
  RestOptions options;
  options.user_agent = "kubelet";
  return {Client(std::make_shared<RestClient>(std::move(transport), threads.runtime(), std::move(options))),
          joining, certificate};
}

Client ClientAs(ServerProcess& server, ClientThreads& threads, const std::string& name,
                const std::vector<std::string>& groups, const std::string& agent) {
  RestOptions options;
  options.user_agent = agent;
  std::shared_ptr<net::Transport> transport = server.api().InProcess({name, "", groups, {}});
  return Client(std::make_shared<RestClient>(std::move(transport), threads.runtime(), std::move(options)));
}

// Who may ask for a node's first certificate. There is no token: nobody else can send requests in this
// process.
Client JoiningClient(ServerProcess& server, ClientThreads& threads) {
  return ClientAs(server, threads, "system:bootstrap:flyball", JoiningGroups(), "kubelet");
}

// The roles and accounts of those who join and act here, in one commit, and none if all are there.
Status EnsureIdentities(ServerProcess& server) {
  std::vector<json::Value> objects = NodeJoinRoles();
  for (json::Value& role : ControllerRoles()) objects.push_back(std::move(role));
  for (const std::string& name : controllers::ControllerAccounts())
    objects.push_back(ControllerAccount(name));
  return server.api().Ensure(objects);
}

}  // namespace

void AddContainerFlags(CLI::App& command, ContainerFlags& flags) {
  command
      .add_option("--container-log-max-size", flags.log_max_size,
                  "Size at which a container's log is rotated, such as 10Mi")
      ->capture_default_str();
  command
      .add_option("--container-log-max-files", flags.log_max_files,
                  "How many files of a container's log are kept, with the current one")
      ->capture_default_str();
  command
      .add_option("--registries", flags.registries,
                  "Mirrors of image registries, and how those are spoken to (k3s' registries.yaml)")
      ->capture_default_str();
  const std::map<std::string, node::HostImage> kHostImage = {
      {"auto", node::HostImage::kAuto}, {"on", node::HostImage::kOn}, {"off", node::HostImage::kOff}};
  command
      .add_option(
          "--host-image", flags.host_image,
          "Whether pods may have the image `host`, a process of this user without isolation. auto: only "
          "where no containers run, which is not as root")
      ->transform(CLI::CheckedTransformer(kHostImage))
      ->default_str("auto");
}

Result<node::LogLimits> LogLimitsOf(const ContainerFlags& flags) {
  const auto size = api::Quantity::Parse(flags.log_max_size);
  if (!size || size->Value() <= 0)
    return Unexpected(
        BadRequest("--container-log-max-size: \"" + flags.log_max_size + "\" is not a size such as 10Mi"));
  if (flags.log_max_files < 2)
    return Unexpected(BadRequest("--container-log-max-files: invalid MaxFiles " +
                                 std::to_string(flags.log_max_files) + ", must be > 1"));
  return node::LogLimits{size->Value(), flags.log_max_files};
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
  FLYBALL_ASSIGN(const node::LogLimits logs, LogLimitsOf(options.containers));
  if (sim) {
    nodes->runtime_ = node::NewSimRuntime(executor, Random::System());
  } else if (options.runtime == "native") {
    FLYBALL_ASSIGN(nodes->runtime_, node::NewNodeRuntime({.data_dir = options.data_dir + "/node",
                                                          .pod_ip = options.address,
                                                          .log_limits = logs,
                                                          .registries_file = options.containers.registries,
                                                          .host_image = options.containers.host_image,
                                                          .keep_on_shutdown = options.keep_containers},
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

std::vector<std::string> NodeNames(int count) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') std::snprintf(host, sizeof host, "node");
  std::string base(host);
  for (auto& c : base) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<std::string> names{base};
  for (int i = 1; i < count; ++i) names.push_back(base + "-" + std::to_string(i + 1));
  return names;
}

void PrepareForLocalCluster(ServerProcessOptions& options) {
  options.api.admission.enable.insert("NodeRestriction");
  options.api.authentication.bootstrap_tokens = true;
  options.nodes.verify = true;
  // Nodes have no roles: this authorizer knows what they may do.
  auto& authorization = options.api.authorization;
  if (authorization.config_file.empty() &&
      std::find(authorization.modes.begin(), authorization.modes.end(), "Node") == authorization.modes.end())
    authorization.modes.insert(authorization.modes.begin(), "Node");
}

Result<std::unique_ptr<LocalCluster>> LocalCluster::Start(ServerProcess& server,
                                                          LocalClusterOptions options) {
  auto cluster = std::unique_ptr<LocalCluster>(new LocalCluster(server));
  FLYBALL_TRY(EnsureIdentities(server));
  FLYBALL_TRY(cluster->StartNodes(options.nodes));
  FLYBALL_TRY(cluster->StartManagers(options.controllers));
  FLYBALL_TRY(cluster->StartProvisioner(options.nodes));
  return cluster;
}

Status LocalCluster::StartManagers(const std::string& enabled) {
  controllers::ControllersOptions options;
  FLYBALL_ASSIGN(options.enabled, EnabledControllers(enabled));
  options.root_ca_pem = server_.pki().server_ca_pem;
  for (const char* signer :
       {"kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet",
        "kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown"})
    options.certificate_signing.authorities[signer] = controllers::FixedAuthority(server_.pki().ca);
  // Controllers act as the service accounts upstream gives them, each with the rights of its own bootstrap
  // role.
  options.client_of_account = [this](const std::string& account) {
    return ClientAs(server_, threads_, ControllerUser(account), ControllerGroups(),
                    "kube-controller-manager");
  };
  controllers_.emplace(
      ClientAs(server_, threads_, "system:kube-controller-manager", {}, "kube-controller-manager"),
      ManagerOptions{.name = "kube-controller-manager", .drop_managed_fields = true});
  FLYBALL_TRY(controllers::AddControllers(*controllers_, options));
  scheduler_.emplace(ClientAs(server_, threads_, "system:kube-scheduler", {}, "kube-scheduler"),
                     ManagerOptions{.name = "kube-scheduler", .drop_managed_fields = true});
  FLYBALL_TRY(scheduler::AddScheduler(*scheduler_));
  FLYBALL_TRY(controllers_->Start());
  FLYBALL_TRY(scheduler_->Start());
  auto& components = server_.api().components();
  components.Add("controller-manager", [this] { return controllers_->Healthy(); });
  components.Add("scheduler", [this] { return scheduler_->Healthy(); });
  return {};
}

Status LocalCluster::StartProvisioner(const NodesOptions& options) {
  if (options.runtime != "native" || node::WhyNoContainers()) return {};
  FLYBALL_TRY(server_.api().Ensure({node::LocalPathClass()}));
  // It may do what makes and removes volumes in a cloud.
  provisioner_.emplace(ClientAs(server_, threads_, ControllerUser("persistent-volume-binder"),
                                ControllerGroups(), "local-path-provisioner"),
                       ManagerOptions{.name = "local-path-provisioner", .drop_managed_fields = true});
  const std::string data = std::filesystem::absolute(options.data_dir).string();
  FLYBALL_TRY(node::AddLocalPathProvisioner(*provisioner_, data + "/node/local-path"));
  return provisioner_->Start();
}

Status LocalCluster::StartNodes(NodesOptions options) {
  options.client_ca_pem = server_.pki().client_ca_pem;
  options.serving_certificate = options.wait_for_serving = true;
  options.remove_not_ready_taint = false;
  const Client joining = JoiningClient(server_, threads_);
  FLYBALL_ASSIGN(nodes_, Nodes::Start(options, threads_.runtime().executor,
                                      [&](const std::string&) -> Result<NodeConnection> {
                                        return ConnectNode(server_, threads_, joining);
                                      }));
  return {};
}

LocalCluster::~LocalCluster() {
  auto& components = server_.api().components();
  components.Remove("scheduler");
  components.Remove("controller-manager");
  if (provisioner_) StopManager(*provisioner_);
  if (scheduler_) StopManager(*scheduler_);
  if (controllers_) StopManager(*controllers_);
  nodes_.reset();
  server_.api().Stop();
  threads_.Stop();
}

}  // namespace flyball::cli
