#include "server/aggregation/remote_client.h"

#include <utility>

#include "server/aggregation/user_headers.h"
#include "server/forward/service_endpoints.h"

namespace flyball::server {

RemoteClient::RemoteClient(const Catalog& catalog, Random& random, const std::string& certificate_pem,
                           const std::string& key_pem)
    : catalog_(catalog),
      random_(random),
      transports_(std::make_shared<TransportCache>(
          net::ClientTls{.certificate_pem = certificate_pem, .private_key_pem = key_pem})) {}

void RemoteClient::AddLocal(const std::string& service_namespace, const std::string& service_name,
                            std::shared_ptr<net::Transport> transport) {
  MutexLock lock(mu_);
  local_[service_namespace + "/" + service_name] = std::move(transport);
}

std::shared_ptr<net::Transport> RemoteClient::LocalOf(const RemoteApi& api) const {
  MutexLock lock(mu_);
  const auto found = local_.find(api.service_namespace + "/" + api.service_name);
  return found == local_.end() ? nullptr : found->second;
}

Result<std::string> RemoteClient::Resolve(const RemoteApi& api) const {
  if (stopped_) return Unexpected(Error(Reason::kCancelled, "the server is shutting down"));
  if (LocalOf(api)) return "https://" + api.trust.server_name + ":" + std::to_string(api.port);
  FLYBALL_ASSIGN(const ServiceAddress address,
                 ResolveService(catalog_, random_, api.service_namespace, api.service_name, api.port));
  return address.Url();
}

Result<std::shared_ptr<net::Transport>> RemoteClient::Connect(const RemoteApi& api,
                                                              const std::string& url) const {
  if (auto local = LocalOf(api)) return local;
  return transports_->To(url, api.trust);
}

Task<Result<net::Response>> RemoteClient::Get(const RemoteApi& api, std::string url, std::string path,
                                              net::Headers headers, const User& user, RemoteLimits limits,
                                              Executor& executor) {
  FLYBALL_CO_ASSIGN(auto transport, Connect(api, url));
  net::Request request;
  request.target = std::move(path);
  request.headers = std::move(headers);
  FLYBALL_CO_TRY(AddUserHeaders(user, request.headers));
  auto fetch = calls_.Fetch(std::move(transport), std::move(request), limits, executor);
  co_return co_await std::move(fetch);
}

void RemoteClient::Stop() {
  stopped_ = true;
  calls_.Stop();
}

void RemoteClient::SetCertificate(const std::string& certificate_pem, const std::string& key_pem) {
  transports_->SetCertificate(certificate_pem, key_pem);
}

}  // namespace flyball::server
