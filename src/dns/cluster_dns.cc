#include "dns/cluster_dns.h"

#include "base/files/durable_file.h"
#include "base/observe/log.h"

namespace flyball::dns {

Result<std::unique_ptr<ClusterDns>> ClusterDns::Start(Manager& manager, DnsServerOptions options) {
  const PodNames pods = options.zone.pods;
  const Runtime& runtime = manager.runtime();
  FLYBALL_ASSIGN(std::unique_ptr<DnsServer> server,
                 DnsServer::Start(std::move(options), runtime.random, runtime.metrics));
  return std::unique_ptr<ClusterDns>(new ClusterDns(manager, pods, std::move(server)));
}

ClusterDns::ClusterDns(Manager& manager, PodNames pods, std::shared_ptr<DnsServer> server)
    : server_(std::move(server)),
      source_(manager.informers(), manager.runtime().executor, pods,
              [weak = std::weak_ptr(server_)](std::function<void(Zone&)> change) {
                if (const auto live = weak.lock()) live->Change(std::move(change));
              }) {
  manager.AddReadyCheck("dns", [weak = std::weak_ptr(server_)]() -> Status {
    const auto live = weak.lock();
    if (live && live->synced()) return {};
    return Unexpected(Error(Reason::kServiceUnavailable, "the cluster's names are not known yet"));
  });
}

Result<std::vector<Upstream>> UpstreamsFrom(const std::vector<std::string>& given, const std::string& path) {
  std::vector<Upstream> upstreams;
  for (const std::string& text : given) {
    FLYBALL_ASSIGN(Upstream upstream, ParseUpstream(text));
    upstreams.push_back(std::move(upstream));
  }
  if (!given.empty()) return upstreams;
  const auto text = ReadFile(path);
  if (text) upstreams = UpstreamsOf(*text);
  if (upstreams.empty())
    log::Warning("no upstream name server: only the cluster's names will be found", {{"file", path}});
  return upstreams;
}

}  // namespace flyball::dns
