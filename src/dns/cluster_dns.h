// ClusterDns: a DnsServer that knows the cluster of a Manager.
#pragma once

#include <memory>
#include <string>

#include "controller/manager.h"
#include "dns/server/dns_server.h"
#include "dns/zone/cluster_source.h"

namespace flyball::dns {

// Thread-safe.
class ClusterDns {
 public:
  // Listens when it returns. Before manager.Start; the manager is not ready before the zone is synced, and
  // outlives this.
  static Result<std::unique_ptr<ClusterDns>> Start(Manager& manager, DnsServerOptions options);

  int port() const { return server_->port(); }
  bool synced() const { return server_->synced(); }

 private:
  ClusterDns(Manager& manager, PodNames pods, std::shared_ptr<DnsServer> server);
  const std::shared_ptr<DnsServer> server_;
  const ClusterSource source_;
};

// Upstreams: `given` ("192.0.2.1", "192.0.2.1:5353"), or else the name servers of the resolv.conf at `path`.
Result<std::vector<Upstream>> UpstreamsFrom(const std::vector<std::string>& given, const std::string& path);

}  // namespace flyball::dns
