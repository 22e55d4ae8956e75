#include "cli/programs/server_process.h"

#include <cerrno>
#include <cstring>

#include "api/values/duration.h"
#include "api/values/ip_address.h"
#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "base/run/memory.h"
#include "base/run/notification.h"
#include "base/run/random.h"
#include "cli/data/data_folder.h"
#include "cli/programs/node_join.h"
#include "metrics/metrics_api.h"
#include "server/bootstrap/kubernetes_service.h"
#include "store/sqlite/space_quota.h"

namespace flyball::cli {
namespace {

// For requests that take longer than a moment. Two, so that one of them does not hold up the next; more would
// only share the same processors, and each may need a hundred times the memory of its request's body.
constexpr int kWorkers = 2;
constexpr Duration kShutdownGrace = std::chrono::seconds(2);
// By then the first clients have come too; what they and the start needed is not all needed again.
constexpr Duration kStartIsOver = std::chrono::seconds(1);

std::string UrlHost(const std::string& bind_address) {
  if (bind_address == "0.0.0.0" || bind_address == "::") return "127.0.0.1";
  return bind_address.find(':') == std::string::npos ? bind_address : "[" + bind_address + "]";
}

// Of the `kubernetes` Service. Who listens on loopback only is not reached anywhere else.
std::string EndpointAddress(const server::ServingOptions& serving) {
  const auto bound = api::ParseIp(serving.bind_address);
  if (serving.advertise_address.empty() && bound && bound->IsLoopback())
    return serving.further_addresses.empty() ? serving.bind_address : serving.further_addresses.front();
  return server::AdvertisedAddress(serving);
}

bool EndsWith(const Error& error, int number) {
  return error.message().ends_with(std::strerror(number));
}

// With what to do about it.
Error ListenFailure(const server::ServingOptions& serving, const Error& error) {
  const auto advise = [&](const char* advice) { return InternalError(error.message() + ": " + advice); };
  if (serving.port < 0 || serving.port > 65535)
    return InternalError("there is no port " + std::to_string(serving.port) +
                         ": choose one from 1 to 65535, or 0 for any free one");
  if (EndsWith(error, EACCES))
    return advise(
        "ports below 1024 are for root: choose a higher one, or allow it by `setcap cap_net_bind_service=+ep "
        "FLYBALL` or `sysctl net.ipv4.ip_unprivileged_port_start=443`");
  if (EndsWith(error, EADDRNOTAVAIL))
    return advise("choose an address that this machine has (`ip address`), or 0.0.0.0 for all of them");
  if (serving.port == 0) return error;
  return advise("stop what listens there, or choose another port (0 takes any free one)");
}

// What the machine refuses, with what to do about it.
Error StartFailure(const Error& error) {
  const auto advise = [&](const char* advice) { return InternalError(error.message() + ": " + advice); };
  if (EndsWith(error, EROFS))
    return advise(
        "choose a folder on another disk with --data-dir, or --ephemeral with `up` to keep nothing");
  if (EndsWith(error, ENOSPC)) return advise("free some space, or choose another folder with --data-dir");
  if (EndsWith(error, EACCES) || EndsWith(error, EPERM))
    return advise("choose a folder of your own with --data-dir");
  if (EndsWith(error, ENOTDIR) || EndsWith(error, EEXIST))
    return advise("there is a file of this name: choose another one for the folder, with --data-dir");
  return error;
}

Error LoadFailure(const Error& error) {
  if (error.message() == store::NoSpaceError().message())
    return InternalError(error.message() +
                         ": start with a larger --quota-backend-bytes, delete what is not needed, and stop; "
                         "then `flyball store defrag`");
  if (!error.message().starts_with("unable to transform key")) return error;
  return InternalError(error.message() +
                       ": it was encrypted with a key that --encryption-provider-config (or "
                       "pki/encryption-config.yaml of the data folder) does not have: put that key back");
}

}  // namespace

Result<std::unique_ptr<ServerProcess>> ServerProcess::Start(ServerProcessOptions options) {
  auto process = std::unique_ptr<ServerProcess>(new ServerProcess());
  if (const Status opened = process->Open(std::move(options)); !opened)
    return Unexpected(StartFailure(opened.error()));
  return process;
}

Status ServerProcess::Open(ServerProcessOptions options) {
  const auto& dir = options.serving.data_dir;
  shutdown_delay_ = options.shutdown_delay;
  shutdown_send_retry_after_ = options.shutdown_send_retry_after;
  request_timeout_ = options.api.request_timeout;
  FLYBALL_TRY(options.store.uses_etcd() ? PrepareKeyFolder(dir) : PrepareDataFolder(dir));
  executor_ = std::make_unique<ThreadPool>("server", options.threads);
  workers_ = std::make_unique<ThreadPool>("worker", kWorkers, RealClock(), ThreadPool::Priority::kBackground);
  options.api.workers = workers_.get();
  FLYBALL_ASSIGN(store_, ServerStore::Open(dir, options.store, *executor_, metrics_));
  if (options.folder_is_ours) FLYBALL_TRY(options.folder_is_ours(options));
  // A range that makes no sense is refused below, with what to do about it.
  if (auto address = server::KubernetesServiceAddress(options.api.service_cluster_ip_range))
    options.serving.alternative_names.push_back(std::move(*address));
  FLYBALL_ASSIGN(pki_, server::LoadPki(options.serving, executor_->clock()));
  if (options.keys_are_made) FLYBALL_TRY(options.keys_are_made(store_->store()));
  FLYBALL_TRY(server::PrepareTrust(pki_, options.api.authentication));
  options.api.files = &files_;
  options.api.service_account_signing_key = pki_.service_account_key;
  options.api.service_account_keys = pki_.service_account_keys;
  FLYBALL_TRY(PrepareNodeAccess(options.nodes, options.api));
  FLYBALL_TRY(PrepareProxyClient(options.serving, options.api));
  options.api.health_checks = store_->HealthChecks();
  options.api.hostname = server::MachineName();
  auto api = server::ApiServer::Make(options.api, store_->store(), *executor_, Random::System(), metrics_);
  if (!api) return Unexpected(LoadFailure(api.error()));
  api_ = std::move(*api);
  FLYBALL_TRY(api_->Ensure(NodeClientRoles()));
  if (options.metrics_api) FLYBALL_TRY(ServeMetrics());
  auto http = server::Serve(options.serving, pki_, api_->handler());
  if (!http) return Unexpected(ListenFailure(options.serving, http.error()));
  http_ = std::move(*http);
  certificates_ = std::make_unique<server::CertificateFiles>(options.serving, pki_,
                                                             options.api.authentication, *http_, *api_);
  FLYBALL_TRY(certificates_->Follow(files_));
  if (const Status said = api_->Advertise(EndpointAddress(options.serving), http_->port()); !said)
    return Unexpected(LoadFailure(said.error()));
  api_->SetExternalAddress(server::ExternalAddress(options.serving, http_->port()));
  url_ = "https://" + UrlHost(options.serving.bind_address) + ":" + std::to_string(http_->port());
  kubeconfig_path_ =
      options.serving.kubeconfig_out.empty() ? dir + "/kubeconfig" : options.serving.kubeconfig_out;
  renewal_ = std::make_shared<server::CertificateRenewal>(
      options.serving, pki_, *executor_, [this](const server::Pki& renewed) { return UseRenewed(renewed); });
  renewal_->Start();
  executor_->PostAfter(kStartIsOver, &LetGoOfProgramPages);
  return WriteKubeconfig(pki_);
}

Status ServerProcess::ServeMetrics() {
  constexpr int kThreads = 2;
  metrics_workers_ = std::make_unique<ThreadPool>("metrics", kThreads);
  const Runtime runtime{*executor_, Random::System(), metrics_, metrics_workers_.get(), true};
  RestOptions rest;
  rest.user_agent = "flyball-metrics";
  std::shared_ptr<net::Transport> transport =
      api_->InProcess(server::User{metrics::kMetricsUser, "", {"system:authenticated"}, {}});
  const Client client(std::make_shared<RestClient>(std::move(transport), runtime, std::move(rest)));
  api_->ServeLocally(metrics::kMetricsServiceNamespace, metrics::kMetricsServiceName,
                     metrics::NewMetricsApi(client));
  return api_->Ensure(metrics::MetricsApiObjects());
}

Status ServerProcess::PrepareNodeAccess(const NodeAccessOptions& nodes, server::ApiServerOptions& api) {
  if (nodes.verify) api.node_ca = pki_.ca.certificate_pem;
  if (!nodes.ca_file.empty()) {
    FLYBALL_ASSIGN(api.node_ca, ReadFile(nodes.ca_file));
  }
  if (nodes.certificate_file.empty() != nodes.key_file.empty())
    return Unexpected(BadRequest("--kubelet-client-certificate and --kubelet-client-key go together"));
  own_node_client_ = nodes.certificate_file.empty();
  api.node_client_certificate = pki_.node_client.certificate_pem;
  api.node_client_key = pki_.node_client.private_key_pem;
  if (own_node_client_) return {};
  FLYBALL_ASSIGN(api.node_client_certificate, ReadFile(nodes.certificate_file));
  FLYBALL_ASSIGN(api.node_client_key, ReadFile(nodes.key_file));
  if (!net::IsKeyOf(api.node_client_key, api.node_client_certificate))
    return Unexpected(BadRequest("--kubelet-client-key: " + nodes.key_file + " is not the key of " +
                                 nodes.certificate_file));
  return {};
}

Status ServerProcess::PrepareProxyClient(const server::ServingOptions& serving,
                                         server::ApiServerOptions& api) {
  net::KeyPair pair;
  own_proxy_client_ = serving.proxy_client_cert_file.empty() && serving.proxy_client_key_file.empty() &&
                      api.authentication.request_header.client_ca_file.empty();
  if (own_proxy_client_) {
    pair = pki_.front_proxy_client;
  } else if (!serving.proxy_client_cert_file.empty() || !serving.proxy_client_key_file.empty()) {
    FLYBALL_ASSIGN(pair, server::ReadProxyClient(serving));
  } else {
    log::Warning(
        "--requestheader-client-ca-file without --proxy-client-cert-file: API servers behind this one will "
        "not believe who its users are");
  }
  api.proxy_client_certificate = pair.certificate_pem;
  api.proxy_client_key = pair.private_key_pem;
  return {};
}

Status ServerProcess::WriteKubeconfig(const server::Pki& pki) {
  return WriteFileDurably(kubeconfig_path_,
                          server::KubeconfigText(url_, pki.server_ca_pem, pki.admin, "kubernetes-admin"));
}

Status ServerProcess::UseRenewed(const server::Pki& pki) {
  FLYBALL_TRY(certificates_->SetServing(pki.serving));
  if (own_node_client_) api_->SetNodeClient(pki.node_client.certificate_pem, pki.node_client.private_key_pem);
  if (own_proxy_client_)
    api_->SetProxyClient(pki.front_proxy_client.certificate_pem, pki.front_proxy_client.private_key_pem);
  return WriteKubeconfig(pki);
}

void ServerProcess::PrepareToEnd() {
  api_->AnnounceStop();
  if (shutdown_delay_ > Duration::zero()) {
    log::Info("the server ends soon; it is not ready any more",
              {{"serves for", api::FormatDuration(shutdown_delay_)}});
    const auto over = std::make_shared<Notification<bool>>();
    executor_->PostAfter(shutdown_delay_, [over] { over->Set(true); });
    over->Wait();
  }
  if (shutdown_send_retry_after_) DrainRequests();
}

// No request takes longer than the timeout.
void ServerProcess::DrainRequests() {
  const auto drained = std::make_shared<Notification<bool>>();
  const TimerId timeout = executor_->PostAfter(request_timeout_, [drained] { drained->Set(false); });
  api_->RefuseMore([drained] { drained->Set(true); });
  if (!drained->Wait()) log::Warning("requests are still under way; ending all the same");
  executor_->Cancel(timeout);
}

ServerProcess::~ServerProcess() {
  files_.Stop();
  if (renewal_) renewal_->Stop();
  if (api_) api_->Stop();
  if (http_) http_->Shutdown(kShutdownGrace);
  http_.reset();
  if (metrics_workers_) metrics_workers_->Stop();
  if (workers_) workers_->Stop();
  if (executor_) executor_->Stop();
  api_.reset();
  store_.reset();
}

}  // namespace flyball::cli
