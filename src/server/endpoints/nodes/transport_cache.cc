#include "server/endpoints/nodes/transport_cache.h"

namespace flyball::server {

Result<std::shared_ptr<net::Transport>> TransportCache::To(const std::string& url) {
  std::shared_ptr<net::Transport> dropped;  // ends outside the lock
  MutexLock lock(mu_);
  if (const auto found = transports_.find(url); found != transports_.end()) return found->second;
  net::ClientOptions options;
  options.url = url;
  options.tls = tls_;
  FLYBALL_ASSIGN(auto made, net::NewHttpClient(options));
  if (order_.size() >= kMost) {
    dropped = std::move(transports_[order_.front()]);
    transports_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(url);
  return transports_[url] = std::move(made);
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
