#include "network/ingress/backend_pool.h"

#include <algorithm>

#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "net/client/http_client.h"

namespace flyball::network {
namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(5);

std::string SchemeOf(const std::string& app_protocol) {
  const std::string protocol = LowerCase(app_protocol);
  if (protocol == "kubernetes.io/h2c") return "h2c";
  return protocol == "https" || protocol == "kubernetes.io/wss" ? "https" : "http";
}

const ServicePort* FindPort(const BackendRef& ref, const Service& service) {
  for (const ServicePort& port : service.spec.ports)
    if (ref.port_name.empty() ? port.port == ref.port : port.name == ref.port_name) return &port;
  return nullptr;
}

std::string UrlOf(const std::string& scheme, const std::string& address, std::int32_t port) {
  const bool v6 = address.find(':') != std::string::npos;
  return scheme + "://" + (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace

Result<std::shared_ptr<net::Transport>> EndpointConnections::To(const std::string& url) {
  MutexLock lock(mu_);
  if (auto live = transports_[url].lock()) return live;
  std::erase_if(transports_, [](const auto& entry) { return entry.second.expired(); });
  net::ClientOptions options{.url = url, .connect_timeout = kConnectTimeout};
  // Pods make their own certificates; whoever encrypts within the cluster checks by other means.
  options.tls.insecure_skip_verify = true;
  options.loop = loop_;
  FLYBALL_ASSIGN(std::shared_ptr<net::Transport> made, net::NewHttpClient(options));
  transports_[url] = made;
  return made;
}

void BackendPool::Set(std::vector<std::shared_ptr<net::Transport>> targets) {
  // What is dropped ends outside the lock.
  MutexLock lock(mu_);
  targets_.swap(targets);
}

std::shared_ptr<net::Transport> BackendPool::Next() {
  MutexLock lock(mu_);
  return targets_.empty() ? nullptr : targets_[next_++ % targets_.size()];
}

std::vector<std::string> EndpointUrls(const BackendRef& ref, const Service& service,
                                      const std::vector<std::shared_ptr<const EndpointSlice>>& slices) {
  std::vector<std::string> urls;
  const ServicePort* wanted = FindPort(ref, service);
  if (!wanted) return urls;
  for (const auto& slice : slices) {
    for (const EndpointSlicePort& port : slice->ports) {
      if (port.name.value_or("") != wanted->name || !port.port || slice->address_type == "FQDN") continue;
      const std::string scheme = SchemeOf(wanted->app_protocol.value_or(port.app_protocol.value_or("")));
      for (const Endpoint& endpoint : slice->endpoints)
        if (endpoint.conditions.ready.value_or(true) && !endpoint.addresses.empty())
          urls.push_back(UrlOf(scheme, endpoint.addresses[0], *port.port));
    }
  }
  std::sort(urls.begin(), urls.end());
  urls.erase(std::unique(urls.begin(), urls.end()), urls.end());
  return urls;
}

}  // namespace flyball::network
