// ServerProcess: an API server with its store, threads and port, as `apiserver` and `up` run it.
#pragma once

#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/file_watcher.h"
#include "base/values/result.h"
#include "cli/programs/server_store.h"
#include "server/api_server.h"
#include "server/certificate_files.h"
#include "server/serving.h"

namespace flyball::cli {

struct ServerProcessOptions {
  server::ServingOptions serving;
  server::ApiServerOptions api;
  int threads = 2;
  ServerStoreOptions store;
};

// Ready to serve when Start returns. Destroying it shuts down in order. Thread-safe.
class ServerProcess {
 public:
  static Result<std::unique_ptr<ServerProcess>> Start(ServerProcessOptions options);
  ~ServerProcess();

  const std::string& url() const { return url_; }
  const std::string& kubeconfig_path() const { return kubeconfig_path_; }
  const server::Pki& pki() const { return pki_; }
  server::ApiServer& api() { return *api_; }
  Executor& executor() { return *executor_; }
  Metrics& metrics() { return metrics_; }

 private:
  ServerProcess() = default;
  Status Open(ServerProcessOptions options);

  Metrics metrics_;
  std::unique_ptr<ThreadPool> executor_;
  std::unique_ptr<ServerStore> store_;
  server::Pki pki_;
  std::unique_ptr<server::ApiServer> api_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<server::CertificateFiles> certificates_;
  FileWatcher files_;
  std::string url_, kubeconfig_path_;
};

}  // namespace flyball::cli
