#include "server/forward/transport_cache.h"

namespace flyball::server {

Result<std::shared_ptr<net::Transport>> TransportCache::To(const std::string& url) {
  return Find(url, url, nullptr);
}

Result<std::shared_ptr<net::Transport>> TransportCache::To(const std::string& url, const ServerTrust& trust) {
  const std::string key = url + "\n" + trust.server_name + "\n" + (trust.insecure ? "-" : "+") +
                          (trust.http2 ? "2" : "1") + trust.ca_pem;
  return Find(key, url, &trust);
}

Result<std::shared_ptr<net::Transport>> TransportCache::Find(const std::string& key, const std::string& url,
                                                             const ServerTrust* trust) {
  std::shared_ptr<net::Transport> dropped;  // ends outside the lock
  MutexLock lock(mu_);
  if (const auto found = transports_.find(key); found != transports_.end()) return found->second;
  net::ClientOptions options;
  options.url = url;
  options.tls = tls_;
  if (trust) {
    options.tls.ca_pem = trust->ca_pem;
    options.tls.server_name = trust->server_name;
    options.tls.insecure_skip_verify = trust->insecure;
    options.http2 = trust->http2;
  }
  FLYBALL_ASSIGN(auto made, net::NewHttpClient(options));
  if (order_.size() >= kMost) {
    dropped = std::move(transports_[order_.front()]);
    transports_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(key);
  return transports_[key] = std::move(made);
}

void TransportCache::SetCertificate(const std::string& certificate_pem, const std::string& key_pem) {
  std::map<std::string, std::shared_ptr<net::Transport>> dropped;  // end outside the lock
  MutexLock lock(mu_);
  tls_.certificate_pem = certificate_pem;
  tls_.private_key_pem = key_pem;
  order_.clear();
  dropped.swap(transports_);
}

}  // namespace flyball::server
