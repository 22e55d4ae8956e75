#include "server/endpoints/nodes/pod_streams.h"

#include "server/auth/bearer_token.h"
#include "server/auth/request_authorization.h"
#include "server/endpoints/nodes/node_location.h"
#include "server/endpoints/nodes/relay.h"
#include "server/handlers/subresource_admission.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

void AddParameter(std::string& query, std::string_view name, std::string_view value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  query += query.empty() ? '?' : '&';
  query += name;
  query += '=';
  for (const char c : value) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '-' || c == '_' || c == '.' || c == '~')
      query += c;
    else
      query += {'%', kDigits[u >> 4], kDigits[u & 15]};
  }
}

// The node's words for the options of exec and attach.
std::string CommandQuery(const Query& from) {
  std::string query;
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"stdin", "input"}, {"stdout", "output"}, {"stderr", "error"}, {"tty", "tty"}};
  for (const auto& [ours, theirs] : kNames)
    if (from.Bool(ours)) AddParameter(query, theirs, "1");
  for (const auto word : from.GetAll("command")) AddParameter(query, "command", word);
  return query;
}

std::string PortsQuery(const Query& from) {
  std::string ports, query;
  for (const auto port : from.GetAll("ports")) ports += (ports.empty() ? "" : ",") + std::string(port);
  if (!ports.empty()) AddParameter(query, "port", ports);
  return query;
}

class PodStreamEndpoint final : public Endpoint {
 public:
  // `path` is the node's word for it; of_container: it is about one of the pod's containers.
  PodStreamEndpoint(std::string path, bool of_container, std::shared_ptr<TransportCache> nodes)
      : path_(std::move(path)), of_container_(of_container), nodes_(std::move(nodes)) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream> stream) override {
    const auto& info = scope.info;
    // Whoever may only read must not run commands: browsers can open WebSockets by GET alone.
    if (info.verb != "create") FLYBALL_CO_TRY(co_await AuthorizeVerb(state.authorizer, scope, "create"));
    FLYBALL_CO_TRY(CheckWebSocketOrigin(request, OtherOrigins::kNone));
    FLYBALL_CO_TRY(co_await AdmitConnect(state, scope));
    const auto object = scope.resource->cache->Get(ServedResource::CacheKey(info.namespace_name, info.name));
    if (!object) co_return Unexpected(NotFound(*scope.resource->kind, info.name));
    const json::Value pod = object->ToValue();
    std::string target = "/" + path_ + "/" + info.namespace_name + "/" + info.name;
    if (of_container_) {
      FLYBALL_CO_ASSIGN(const std::string container, ContainerOf(pod, info.query.Get("container")));
      target += "/" + container;
    }
    const std::string node(pod["spec"]["nodeName"].string_or(""));
    if (node.empty()) co_return Unexpected(BadRequest("pod " + info.name + " does not have a host assigned"));
    FLYBALL_CO_ASSIGN(const NodeAddress address, AddressOf(state, node));
    FLYBALL_CO_ASSIGN(const auto transport, nodes_->To(address.url()));
    if (!IsUpgrade(request)) co_return Unexpected(BadRequest("Upgrade request required"));
    target += of_container_ ? CommandQuery(info.query) : PortsQuery(info.query);
    RelayUpgrade(transport, request, std::move(target), {}, stream);
    co_return std::optional<Answer>();
  }

 private:
  const std::string path_;
  const bool of_container_;
  const std::shared_ptr<TransportCache> nodes_;
};

}  // namespace

void AddPodStreamEndpoints(EndpointTable& table, std::shared_ptr<TransportCache> nodes) {
  table.Add("pods/exec", std::make_unique<PodStreamEndpoint>("exec", true, nodes));
  table.Add("pods/attach", std::make_unique<PodStreamEndpoint>("attach", true, nodes));
  table.Add("pods/portforward", std::make_unique<PodStreamEndpoint>("portForward", false, nodes));
}

}  // namespace flyball::server
