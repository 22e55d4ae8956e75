#include "server/endpoints/pod_log.h"

#include "api/status.h"
#include "base/mutex.h"
#include "json/json.h"
#include "net/http_client.h"
#include "server/api_errors.h"

namespace flyball::server {
namespace {

// Carries the node's answer over to the client as it comes.
class Relay final : public net::ResponseSink {
 public:
  explicit Relay(std::shared_ptr<net::ResponseStream> stream) : stream_(std::move(stream)) {}

  void OnHead(int status, const net::Headers& headers) override {
    net::Headers out;
    out.Set("content-type", std::string(headers.Get("content-type")));
    stream_->Begin(status, std::move(out));
    begun_ = true;
  }
  void OnData(std::string_view data) override { stream_->Write(MakeBytes(std::string(data))); }
  void OnEnd() override { stream_->End(); }
  void OnError(const Error& error) override {
    if (begun_) {
      stream_->End();
    } else {
      SendAnswer(*stream_,
                 ErrorAnswer(Error(Reason::kUnknown, 500, "the node does not answer: " + error.message())),
                 {});
    }
  }

 private:
  const std::shared_ptr<net::ResponseStream> stream_;
  bool begun_ = false;
};

Result<std::string> ContainerOf(const json::Value& pod, std::string_view wanted) {
  std::string names;
  int count = 0;
  for (const auto list : {"containers", "initContainers", "ephemeralContainers"}) {
    const auto& containers = pod["spec"][list];
    if (!containers.is_array()) continue;
    for (const auto& container : containers.as_array()) {
      const auto name = container["name"].string_or("");
      if (name == wanted) return std::string(name);
      if (std::string_view(list) != "containers") continue;
      names += (names.empty() ? "" : " ") + std::string(name);
      ++count;
    }
  }
  const std::string pod_name(pod["metadata"]["name"].string_or(""));
  if (!wanted.empty())
    return Unexpected(BadRequest("container " + std::string(wanted) + " is not valid for pod " + pod_name));
  if (count == 1) return names;
  return Unexpected(BadRequest("a container name must be specified for pod " + pod_name +
                               ", choose one of: [" + names + "]"));
}

class PodLogEndpoint final : public Endpoint {
 public:
  explicit PodLogEndpoint(const ApiServerOptions& options)
      : certificate_(options.node_client_certificate), key_(options.node_client_key) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope, const net::Request&,
                                             std::shared_ptr<net::ResponseStream> stream) override {
    const auto object =
        scope.resource->cache->Get(ServedResource::CacheKey(scope.info.namespace_name, scope.info.name));
    if (!object) co_return Unexpected(NotFound(*scope.resource->kind, scope.info.name));
    const json::Value pod = object->ToValue();
    FLYBALL_CO_ASSIGN(const std::string container, ContainerOf(pod, scope.info.query.Get("container")));
    const std::string node_name(pod["spec"]["nodeName"].string_or(""));
    if (node_name.empty()) co_return std::optional(TextAnswer(200, ""));  // nothing has run yet
    FLYBALL_CO_ASSIGN(const auto transport, TransportTo(state, node_name));
    net::Request ask;
    ask.target = "/containerLogs/" + scope.info.namespace_name + "/" + scope.info.name + "/" + container +
                 Query(scope);
    const auto call = transport->Start(std::move(ask), std::make_shared<Relay>(stream));
    stream->OnClose([call] { call->Cancel(); });
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

  Result<std::shared_ptr<net::Transport>> TransportTo(ServerState& state, const std::string& node_name) {
    const auto nodes = state.catalog.Find("", "v1", "nodes");
    const auto object = nodes->cache->Get(node_name);
    if (!object) return Unexpected(NotFound(*nodes->kind, node_name));
    const json::Value node = object->ToValue();
    std::string address;
    if (const auto& list = node["status"]["addresses"]; list.is_array())
      for (const auto& entry : list.as_array())
        if (entry["type"].string_or("") == "InternalIP") address = entry["address"].string_or("");
    const auto port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].int_or(0);
    if (address.empty() || port == 0)
      return Unexpected(Error(Reason::kUnknown, 500, "no preferred addresses found; known addresses: []"));
    const std::string url = "https://" + address + ":" + std::to_string(port);
    MutexLock lock(mu_);
    auto& transport = transports_[url];
    if (!transport) {
      net::ClientOptions options;
      options.url = url;
      options.tls.certificate_pem = certificate_;
      options.tls.private_key_pem = key_;
      // As kube-apiserver does when it is given no CA for kubelets: their certificates are of their own
      // making.
      options.tls.insecure_skip_verify = true;
      FLYBALL_ASSIGN(auto made, net::NewHttpClient(options));
      transport = std::move(made);
    }
    return transport;
  }

  const std::string certificate_, key_;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<net::Transport>> transports_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace

void AddPodLogEndpoint(EndpointTable& table, const ApiServerOptions& options) {
  table.Add("pods/log", std::make_unique<PodLogEndpoint>(options));
}

}  // namespace flyball::server
