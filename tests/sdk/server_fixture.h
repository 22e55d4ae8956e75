// A real API server on a memory store, reached in this process or over HTTPS.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "client/client.h"
#include "client/config.h"
#include "server/api_server.h"
#include "server/serving.h"
#include "store/memory/memory_store.h"

namespace flyball::tests {

enum class Wire { kInProcess, kHttps };

// The user that may do everything.
inline server::User Admin() {
  server::User user;
  user.name = "kubernetes-admin";
  user.groups = {"system:masters", "system:authenticated"};
  return user;
}

class RealServer {
 public:
  explicit RealServer(Wire wire) : pool_("server", 2), machinery_("sdk", 2), workers_("worker", 4) {
    store_ = store::NewMemoryStore(pool_);
    auto api = server::ApiServer::Make({}, *store_, pool_, Random::System(), metrics_);
    if (!api) return;
    api_ = std::move(*api);
    const Runtime runtime = MakeRuntime();
    if (wire == Wire::kInProcess) {
      rest_ =
          std::make_shared<RestClient>(std::shared_ptr<net::Transport>(api_->InProcess(Admin())), runtime);
      return;
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "sdk-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    server::ServingOptions serving;
    serving.port = 0;
    serving.data_dir = directory_;
    auto pki = server::LoadPki(serving, RealClock());
    if (!pki) return;
    auto http = server::Serve(serving, *pki, api_->handler());
    if (!http) return;
    http_ = std::move(*http);
    pki_ = *pki;
    kubeconfig_ = server::KubeconfigText("https://127.0.0.1:" + std::to_string(http_->port()),
                                         pki->ca.certificate_pem, pki->admin, "kubernetes-admin");
    const auto config = ParseKubeconfig(kubeconfig_, directory_);
    if (!config) return;
    auto rest = NewRestClient(*config, runtime);
    if (rest) rest_ = *rest;
  }
  ~RealServer() {
    rest_.reset();
    if (api_) api_->Stop();
    http_.reset();
    workers_.Stop();
    machinery_.Stop();
    pool_.Stop();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  Runtime MakeRuntime() {
    return {.executor = machinery_, .random = Random::System(), .metrics = metrics_, .workers = &workers_};
  }
  bool ok() const { return rest_ != nullptr; }
  Client client() const { return Client(rest_); }
  server::ApiServer& api() { return *api_; }
  net::HttpServer& http() { return *http_; }       // of kHttps only
  const server::Pki& pki() const { return pki_; }  // of kHttps only
  const std::string& kubeconfig() const { return kubeconfig_; }

 private:
  Metrics metrics_;
  ThreadPool pool_, machinery_, workers_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<server::ApiServer> api_;
  std::unique_ptr<net::HttpServer> http_;
  server::Pki pki_;
  std::string directory_, kubeconfig_;
  std::shared_ptr<RestClient> rest_;
};

}  // namespace flyball::tests
