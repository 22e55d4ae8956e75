#include "network/services/proxy_server.h"

#include <algorithm>

#include "api/values/time.h"
#include "controller/health_server.h"
#include "json/json.h"

namespace flyball::network {
namespace {

// A node with this taint is about to go: load balancers should not send it anything new.
constexpr char kGoingTaint[] = "ToBeDeletedByClusterAutoscaler";

bool NodeEligible(const Node* node) {
  if (!node || node->metadata.deletion_timestamp) return false;
  return std::none_of(node->spec.taints.begin(), node->spec.taints.end(),
                      [](const Taint& taint) { return taint.key == kGoingTaint; });
}

class ProxyAnswers {
 public:
  ProxyAnswers(const ServiceProxy& proxy, Metrics& metrics, const Clock& clock)
      : proxy_(proxy), metrics_(metrics), clock_(clock) {}

  Task<void> Answer(std::shared_ptr<net::Request> request,
                    std::shared_ptr<net::ResponseStream> stream) const {
    const std::string path = request->target.substr(0, request->target.find('?'));
    if (path == "/healthz" || path == "/livez")
      SendHealth(*stream, path == "/healthz");
    else if (path == "/metrics")
      stream->Send(200, {{"content-type", "text/plain; version=0.0.4; charset=utf-8"}}, metrics_.Serialize());
    else if (path == "/proxyMode")
      stream->Send(200, {{"content-type", "text/plain; charset=utf-8"}}, "nftables");
    else
      stream->Send(404, {{"content-type", "text/plain; charset=utf-8"}}, "404 page not found\n");
    co_return;
  }

 private:
  void SendHealth(net::ResponseStream& stream, bool with_node) const {
    const auto node = proxy_.node();
    const bool eligible = NodeEligible(node.get()), up_to_date = proxy_.healthy();
    const bool good = up_to_date && (eligible || !with_node);
    const auto now = clock_.Now();
    json::Value body = json::Object{};
    body["lastUpdated"] = api::FormatTime(good ? now : proxy_.Health().last_updated);
    body["currentTime"] = api::FormatTime(now);
    if (with_node) body["nodeEligible"] = eligible;
    body["healthy"] = up_to_date;
    metrics_
        .GetCounter(with_node ? "kubeproxy_proxy_healthz_total" : "kubeproxy_proxy_livez_total",
                    with_node ? "Cumulative proxy healthz HTTP status" : "Cumulative proxy livez HTTP status",
                    {{"code", good ? "200" : "503"}})
        .Add();
    stream.Send(good ? 200 : 503,
                {{"content-type", "application/json"}, {"x-content-type-options", "nosniff"}},
                json::Write(body));
  }

  const ServiceProxy& proxy_;
  Metrics& metrics_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<ProxyServer>> ProxyServer::Start(const std::string& address, const ServiceProxy& proxy,
                                                        Metrics& metrics, const Clock& clock) {
  FLYBALL_ASSIGN(const net::ServerOptions options, PlainServerAt(address));
  const auto answers = std::make_shared<const ProxyAnswers>(proxy, metrics, clock);
  FLYBALL_ASSIGN(auto server,
                 net::HttpServer::Start(options, [answers](std::shared_ptr<net::Request> request,
                                                           std::shared_ptr<net::ResponseStream> stream) {
                   return answers->Answer(std::move(request), std::move(stream));
                 }));
  return std::unique_ptr<ProxyServer>(new ProxyServer(std::move(server)));
}

}  // namespace flyball::network
