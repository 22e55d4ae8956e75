#include "server/endpoints/pod_log.h"

#include "server/api_errors.h"
#include "server/endpoints/node_location.h"
#include "server/endpoints/relay.h"

namespace flyball::server {
namespace {

class PodLogEndpoint final : public Endpoint {
 public:
  explicit PodLogEndpoint(std::shared_ptr<TransportCache> nodes) : nodes_(std::move(nodes)) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope, const net::Request&,
                                             std::shared_ptr<net::ResponseStream> stream) override {
    const auto object =
        scope.resource->cache->Get(ServedResource::CacheKey(scope.info.namespace_name, scope.info.name));
    if (!object) co_return Unexpected(NotFound(*scope.resource->kind, scope.info.name));
    const json::Value pod = object->ToValue();
    FLYBALL_CO_ASSIGN(const std::string container, ContainerOf(pod, scope.info.query.Get("container")));
    const std::string node_name(pod["spec"]["nodeName"].string_or(""));
    if (node_name.empty()) co_return std::optional(TextAnswer(200, ""));  // nothing has run yet
    FLYBALL_CO_ASSIGN(const NodeAddress address, AddressOf(state, node_name));
    FLYBALL_CO_ASSIGN(const auto transport, nodes_->To(address.url()));
    net::Request ask;
    ask.target = "/containerLogs/" + scope.info.namespace_name + "/" + scope.info.name + "/" + container +
                 Query(scope);
    RelayRules rules;
    rules.unreachable = [](const Error& error) {
      return Error(Reason::kUnknown, 500, "the node does not answer: " + error.message());
    };
    RelayAnswer(transport, std::move(ask), stream, std::move(rules));
    co_return std::optional<Answer>();
  }

 private:
  static std::string Query(const RequestScope& scope) {
    std::string query;
    for (const std::string_view key :
         {"follow", "previous", "tailLines", "limitBytes", "sinceSeconds", "timestamps"}) {
      const auto value = scope.info.query.Get(key);
      if (value.empty()) continue;
      query += (query.empty() ? "?" : "&") + std::string(key) + "=" + std::string(value);
    }
    return query;
  }

  const std::shared_ptr<TransportCache> nodes_;
};

}  // namespace

void AddPodLogEndpoint(EndpointTable& table, std::shared_ptr<TransportCache> nodes) {
  table.Add("pods/log", std::make_unique<PodLogEndpoint>(std::move(nodes)));
}

}  // namespace flyball::server
