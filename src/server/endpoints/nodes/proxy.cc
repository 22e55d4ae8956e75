#include "server/endpoints/nodes/proxy.h"

#include <algorithm>
#include <charconv>

#include "api/values/ip_address.h"
#include "server/auth/bearer_token.h"
#include "server/endpoints/nodes/node_location.h"
#include "server/forward/forwarded_headers.h"
#include "server/forward/html_links.h"
#include "server/forward/relay.h"
#include "server/forward/service_endpoints.h"
#include "server/handlers/subresource_admission.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

// Where a request goes on to.
struct Destination {
  std::string url;  // scheme://host:port
  std::shared_ptr<TransportCache> through;
};

using FindDestination = Result<Destination> (*)(ServerState&, RequestScope&, const ProxyName&,
                                                const std::shared_ptr<TransportCache>& nodes,
                                                const std::shared_ptr<TransportCache>& pods);

Error ServiceUnavailable(const std::string& message) {
  return Error(Reason::kServiceUnavailable, 503, message);
}

std::string UrlOf(const std::string& scheme, const std::string& host, const std::string& port) {
  const std::string base = (scheme.empty() ? "http" : scheme) + "://";
  if (port.empty()) return base + (host.find(':') == std::string::npos ? host : "[" + host + "]");
  return base + HostPort(host, std::atoi(port.c_str()));
}

// The first port of the first container that names one.
std::string FirstPort(const json::Value& pod) {
  if (!pod["spec"]["containers"].is_array()) return {};
  for (const auto& container : pod["spec"]["containers"].as_array())
    if (!container["ports"].empty())
      return std::to_string(container["ports"].as_array()[0]["containerPort"].int_or(0));
  return {};
}

Error AddressNotAllowed() {
  return BadRequest("address not allowed");
}

bool DeclaresPort(const json::Value& pod, const std::string& port) {
  for (const auto& container : pod["spec"]["containers"].as_array())
    if (container["ports"].is_array())
      for (const auto& declared : container["ports"].as_array())
        if (std::to_string(declared["containerPort"].int_or(0)) == port) return true;
  return false;
}

// Whether a client may be connected with that port of the pod. Never through addresses that mean the machine
// of this server, its network or nobody, with one exception: pods that share the network of a node which has
// no other address than loopback itself, at the ports they declare. Those are the pods of `--runtime native`
// on one machine.
bool MayReach(ServerState& state, const json::Value& pod, const std::string& address,
              const std::string& port) {
  const auto ip = api::ParseIp(address);
  if (!ip || ip->IsGlobalUnicast()) return ip.has_value();
  const auto node = AddressOf(state, std::string(pod["spec"]["nodeName"].string_or("")));
  return ip->IsLoopback() && node && node->host == address && DeclaresPort(pod, port);
}

Result<Destination> FindPod(ServerState& state, RequestScope& scope, const ProxyName& wanted,
                            const std::shared_ptr<TransportCache>&,
                            const std::shared_ptr<TransportCache>& pods) {
  const auto object =
      scope.resource->cache->Get(ServedResource::CacheKey(scope.info.namespace_name, wanted.name));
  if (!object) return Unexpected(NotFound(*scope.resource->kind, wanted.name));
  const json::Value pod = object->ToValue();
  const std::string ip(pod["status"]["podIP"].string_or(""));
  const std::string port = wanted.port.empty() ? FirstPort(pod) : wanted.port;
  if (!MayReach(state, pod, ip, port)) return Unexpected(AddressNotAllowed());
  return Destination{UrlOf(wanted.scheme, ip, port), pods};
}

// The name of the service's port that was asked for by name or number; "" is the one without a name.
Result<std::string> ServicePortName(const json::Value& service, const ProxyName& wanted) {
  std::int64_t number = 0;
  const char* end = wanted.port.data() + wanted.port.size();
  const auto parsed = std::from_chars(wanted.port.data(), end, number);
  if (wanted.port.empty() || parsed.ec != std::errc() || parsed.ptr != end) return wanted.port;
  if (service["spec"]["ports"].is_array())
    for (const auto& port : service["spec"]["ports"].as_array())
      if (port["port"].int_or(0) == number) return std::string(port["name"].string_or(""));
  return Unexpected(
      ServiceUnavailable("no service port " + wanted.port + " found for service \"" + wanted.name + "\""));
}

bool HasAddress(const json::Value& pod, std::string_view ip) {
  if (pod["status"]["podIP"].string_or("") == ip) return true;
  if (!pod["status"]["podIPs"].is_array()) return false;
  for (const auto& own : pod["status"]["podIPs"].as_array())
    if (own["ip"].string_or("") == ip) return true;
  return false;
}

// Slices can be written by people: only an address that is really one of a pod of the namespace is connected
// to (upstream: isValidAddress).
bool IsPodEndpoint(ServerState& state, const ServiceEndpoint& endpoint, const std::string& ns) {
  const auto object =
      state.catalog.Find("", "v1", "pods")->cache->Get(ServedResource::CacheKey(ns, endpoint.pod));
  if (endpoint.pod.empty() || !object) return false;
  const json::Value pod = object->ToValue();
  return HasAddress(pod, endpoint.address) &&
         MayReach(state, pod, endpoint.address, std::to_string(endpoint.port));
}

Result<Destination> FindService(ServerState& state, RequestScope& scope, const ProxyName& wanted,
                                const std::shared_ptr<TransportCache>&,
                                const std::shared_ptr<TransportCache>& pods) {
  const std::string& ns = scope.info.namespace_name;
  const auto object = scope.resource->cache->Get(ServedResource::CacheKey(ns, wanted.name));
  if (!object) return Unexpected(NotFound(*scope.resource->kind, wanted.name));
  const json::Value service = object->ToValue();
  FLYBALL_ASSIGN(const std::string port_name, ServicePortName(service, wanted));
  std::vector<Destination> all;
  for (const ServiceEndpoint& endpoint : ReadyEndpoints(state.catalog, service, port_name))
    if (IsPodEndpoint(state, endpoint, ns))
      all.push_back({UrlOf(wanted.scheme, endpoint.address, std::to_string(endpoint.port)), pods});
  if (all.empty())
    return Unexpected(ServiceUnavailable("no endpoints available for service \"" + scope.info.name + "\""));
  return all[state.random.Next() % all.size()];
}

Result<Destination> FindNode(ServerState& state, RequestScope&, const ProxyName& wanted,
                             const std::shared_ptr<TransportCache>& nodes,
                             const std::shared_ptr<TransportCache>& pods) {
  FLYBALL_ASSIGN(const NodeAddress address, AddressOf(state, wanted.name));
  const auto ip = api::ParseIp(address.host);
  const bool own_server = wanted.port.empty() || wanted.port == std::to_string(address.port);
  // Of a node on loopback only its own server, which asks for this one's certificate.
  if (!ip || !(ip->IsGlobalUnicast() || (own_server && ip->IsLoopback())))
    return Unexpected(AddressNotAllowed());
  if (own_server) return Destination{address.url(), nodes};
  return Destination{UrlOf(wanted.scheme, address.host, wanted.port), pods};
}

// Also without the headers in which this server's own front proxy names users.
net::Headers WithoutIdentity(net::Headers headers, const AuthenticatorChain& authenticator) {
  const net::Headers all = headers;
  for (const auto& [name, value] : all)
    if (authenticator.IsIdentityHeader(name)) headers.Remove(name);
  return headers;
}

// A redirect or link within the other server becomes one within its proxied paths.
std::string RewrittenLocation(std::string_view location, const std::string& url, const std::string& prefix) {
  if (location.starts_with(url)) location.remove_prefix(url.size());
  if (location.empty()) return prefix + "/";
  const bool within = location[0] == '/' && !location.starts_with("//");
  return within && !location.starts_with(prefix + "/") ? prefix + std::string(location)
                                                       : std::string(location);
}

constexpr std::string_view kHtml = "text/html";

// Pages whose links can be rewritten: those that nobody has compressed.
bool IsHtml(const net::Headers& headers) {
  const std::string_view type = headers.Get("content-type");
  return type.substr(0, type.find_first_of("; ")) == kHtml && headers.Get("content-encoding").empty();
}

class ProxyEndpoint final : public Endpoint {
 public:
  ProxyEndpoint(std::string what, FindDestination find, std::shared_ptr<TransportCache> nodes,
                std::shared_ptr<TransportCache> pods)
      : what_(std::move(what)), find_(find), nodes_(std::move(nodes)), pods_(std::move(pods)) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream> stream) override {
    FLYBALL_CO_TRY(CheckWebSocketOrigin(request, OtherOrigins::kLoopback));
    ProxyName wanted;
    if (!ParseProxyName(scope.info.name, wanted))
      co_return Unexpected(BadRequest("invalid " + what_ + " request \"" + scope.info.name + "\""));
    FLYBALL_CO_TRY(co_await AdmitConnect(state, scope));
    FLYBALL_CO_ASSIGN(const Destination destination, find_(state, scope, wanted, nodes_, pods_));
    const std::string target = ProxiedTarget(request.target);
    if ((target.empty() || target[0] == '?') && (request.method == "GET" || request.method == "HEAD"))
      co_return std::optional(AddSlash(request.target));
    FLYBALL_CO_ASSIGN(const auto transport, destination.through->To(destination.url));
    const std::string path = target.empty() || target[0] != '/' ? "/" + target : target;
    net::Headers headers = WithoutIdentity(ForwardedHeaders(request), state.authenticator);
    if (IsUpgrade(request)) {
      RelayUpgrade(transport, request, path, std::move(headers), stream);
    } else {
      Forward(transport, request, destination, path, std::move(headers), stream);
    }
    co_return std::optional<Answer>();
  }

 private:
  static Answer AddSlash(const std::string& target) {
    const std::size_t mark = std::min(target.find('?'), target.size());
    Answer answer = TextAnswer(301, "");
    answer.headers.Set("location", target.substr(0, mark) + "/" + target.substr(mark));
    return answer;
  }

  static void Forward(const std::shared_ptr<net::Transport>& transport, const net::Request& request,
                      const Destination& destination, const std::string& path, net::Headers headers,
                      const std::shared_ptr<net::ResponseStream>& stream) {
    net::Request ask;
    ask.method = request.method;
    ask.target = path;
    ask.headers = std::move(headers);
    // Browsers take compressed pages, whose links could not be rewritten.
    if (ask.headers.Get("accept").find(kHtml) != std::string_view::npos)
      ask.headers.Remove("accept-encoding");
    ask.body = request.body;
    const std::string whole = request.target;
    const std::string prefix = whole.substr(0, whole.size() - ProxiedTarget(whole).size());
    RelayRules rules;
    rules.headers = [url = destination.url, prefix](const net::Headers& from) {
      net::Headers kept;
      for (const auto& [name, value] : from) {
        if (IsHopByHop(name) || (name == "content-length" && IsHtml(from))) continue;
        kept.Add(name, name == "location" ? RewrittenLocation(value, url, prefix) : value);
      }
      return kept;
    };
    rules.body = [url = destination.url, prefix](const net::Headers& from) -> net::BodyFilter {
      if (!IsHtml(from)) return nullptr;
      const auto links = std::make_shared<HtmlLinks>(
          [url, prefix](std::string_view link) { return RewrittenLocation(link, url, prefix); });
      return [links](std::optional<std::string_view> piece) {
        return piece ? links->Next(*piece) : links->End();
      };
    };
    rules.unreachable = [](const Error& error) {
      return ErrorAnswer(ServiceUnavailable("error trying to reach service: " + error.message()));
    };
    RelayAnswer(transport, std::move(ask), stream, std::move(rules));
  }

  const std::string what_;
  const FindDestination find_;
  const std::shared_ptr<TransportCache> nodes_, pods_;
};

}  // namespace

bool ParseProxyName(std::string_view text, ProxyName& out) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    parts.emplace_back(text.substr(0, colon));
    if (colon == text.size()) break;
    text.remove_prefix(colon + 1);
  }
  if (parts.size() == 1) parts.emplace_back();
  if (parts.size() == 2) parts.insert(parts.begin(), std::string());
  if (parts.size() != 3) return false;
  out = {parts[0], parts[1], parts[2]};
  return !out.name.empty() && (out.scheme.empty() || out.scheme == "http" || out.scheme == "https");
}

std::string ProxiedTarget(std::string_view target, std::string_view subresource) {
  const std::size_t path_end = std::min(target.find('?'), target.size());
  // /api/v1/namespaces/<ns>/<resource>/<name>/proxy or /api/v1/nodes/<name>/proxy: names hold no slash, and
  // neither a version nor a resource is called so.
  constexpr std::size_t kLeastBefore = 4;
  std::size_t at = 0, segments = 0;
  bool namespaced = false;
  while (at < path_end) {
    if (target[at] == '/') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(target.find('/', at), path_end);
    const std::string_view segment = target.substr(at, end - at);
    if (segments == 2) namespaced = segment == "namespaces";
    if (segment == subresource && segments >= kLeastBefore + (namespaced ? 2 : 0))
      return std::string(target.substr(end));
    ++segments;
    at = end;
  }
  return {};
}

void AddProxyEndpoints(EndpointTable& table, std::shared_ptr<TransportCache> nodes) {
  const auto pods = std::make_shared<TransportCache>(net::ClientTls{});
  table.Add("pods/proxy", std::make_unique<ProxyEndpoint>("pod", &FindPod, nodes, pods));
  table.Add("services/proxy", std::make_unique<ProxyEndpoint>("service", &FindService, nodes, pods));
  table.Add("nodes/proxy", std::make_unique<ProxyEndpoint>("node", &FindNode, nodes, pods));
}

}  // namespace flyball::server
