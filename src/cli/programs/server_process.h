// ServerProcess: an API server with its store, threads and port, as `apiserver` and `up` run it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/file_watcher.h"
#include "base/values/result.h"
#include "cli/data/server_store.h"
#include "server/api_server.h"
#include "server/certificate_files.h"
#include "server/certificate_renewal.h"
#include "server/serving.h"

namespace flyball::cli {

// Between the server and its nodes; files in PEM.
struct NodeAccessOptions {
  bool verify = false;                     // nodes' servers must have a certificate of our own CA
  std::string ca_file;                     // of this one instead (--kubelet-certificate-authority)
  std::string certificate_file, key_file;  // with which nodes are called; empty: our own CA issues it
};

struct ServerProcessOptions {
  server::ServingOptions serving;
  server::ApiServerOptions api;
  int threads = 2;
  ServerStoreOptions store;
  NodeAccessOptions nodes;
  bool metrics_api =
      false;  // serves metrics.k8s.io (metrics_api.h), unless the cluster has another server for it
  // How long everything is still served once /readyz says that the server ends (upstream:
  // --shutdown-delay-duration), so that load balancers notice first.
  Duration shutdown_delay{};
  // After that, goes on listening until the requests under way have ended, and refuses new ones with 429
  // (upstream: --shutdown-send-retry-after). Otherwise connections are closed to new requests at once.
  bool shutdown_send_retry_after = false;
  // Called when the data folder is this process' own, before anybody can connect; may change the options.
  std::function<Status(ServerProcessOptions& options)> folder_is_ours{};
  // Called when the data folder has all its keys, before the store is written to.
  std::function<Status(store::Store& store)> keys_are_made{};
};

// Ready to serve when Start returns. Destroying it shuts down in order. Thread-safe.
class ServerProcess {
 public:
  static Result<std::unique_ptr<ServerProcess>> Start(ServerProcessOptions options);
  ~ServerProcess();

  // The first part of an orderly end: announces it, goes on serving for shutdown_delay, and lets the requests
  // under way end if shutdown_send_retry_after is set. Destroying it is the other part.
  void PrepareToEnd();

  const std::string& url() const { return url_; }
  const std::string& kubeconfig_path() const { return kubeconfig_path_; }
  // As it was at the start; the CA does not change.
  const server::Pki& pki() const { return pki_; }
  server::ApiServer& api() { return *api_; }
  Executor& executor() { return *executor_; }
  Metrics& metrics() { return metrics_; }

 private:
  ServerProcess() = default;
  Status Open(ServerProcessOptions options);
  Status PrepareNodeAccess(const NodeAccessOptions& nodes, server::ApiServerOptions& api);
  Status PrepareProxyClient(const server::ServingOptions& serving, server::ApiServerOptions& api);
  Status ServeMetrics();
  Status WriteKubeconfig(const server::Pki& pki);
  Status UseRenewed(const server::Pki& pki);
  void DrainRequests();

  Duration shutdown_delay_{}, request_timeout_{};
  bool shutdown_send_retry_after_ = false;
  Metrics metrics_;
  // The metrics API has workers of its own: they wait for what the others do.
  std::unique_ptr<ThreadPool> executor_, workers_, metrics_workers_;
  std::unique_ptr<ServerStore> store_;
  server::Pki pki_;
  std::unique_ptr<server::ApiServer> api_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<server::CertificateFiles> certificates_;
  FileWatcher files_;
  std::shared_ptr<server::CertificateRenewal> renewal_;
  bool own_node_client_ = true;    // not the user's
  bool own_proxy_client_ = false;  // our own front-proxy CA has issued it
  std::string url_, kubeconfig_path_;
};

}  // namespace flyball::cli
