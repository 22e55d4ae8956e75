#include "metrics/metrics_api.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "api/types/core.h"
#include "api/values/duration.h"
#include "api/values/quantity.h"
#include "api/values/time.h"
#include "api/wire/status.h"
#include "base/values/ascii.h"
#include "json/json.h"
#include "metrics/metrics_table.h"
#include "metrics/node_scraper.h"

namespace flyball::metrics {
namespace {

constexpr char kPath[] = "/apis/metrics.k8s.io/v1beta1";
constexpr char kApiVersion[] = "metrics.k8s.io/v1beta1";
// How long after the first sample the second is taken.
constexpr Duration kSecondSample = std::chrono::seconds(1);

const KindRef kNodes{"", "v1", "Node", "nodes", false};
const KindRef kPods{"", "v1", "Pod", "pods", true};

// What is asked for, from the path and the query.
struct MetricsQuery {
  bool pods = false;
  std::string ns, name;  // a name: one object
  ListParams selection;
  bool watch = false, table = false;
};

std::string DecodePercent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      int byte = 0;
      std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

void TakeParameter(std::string_view parameter, MetricsQuery& query) {
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  const std::string_view name = parameter.substr(0, equals);
  const std::string value =
      equals < parameter.size() ? DecodePercent(parameter.substr(equals + 1)) : std::string();
  if (name == "labelSelector") query.selection.label_selector = value;
  if (name == "fieldSelector") query.selection.field_selector = value;
  if (name == "watch") query.watch = value == "true" || value == "1";
}

// Nothing if the path names nothing of this API.
std::optional<MetricsQuery> ParseQuery(const net::Request& request) {
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  const std::string path = request.target.substr(0, mark);
  if (!path.starts_with(std::string(kPath) + "/")) return std::nullopt;
  MetricsQuery query;
  query.table = request.headers.Get("accept").find("as=Table") != std::string_view::npos;
  if (mark < request.target.size())
    for (const std::string& parameter : SplitText(request.target.substr(mark + 1), '&'))
      TakeParameter(parameter, query);
  std::vector<std::string> words = SplitWords(path.substr(sizeof kPath), "/");
  if (words.size() > 2 && words[0] == "namespaces") {
    query.ns = words[1];
    words.erase(words.begin(), words.begin() + 2);
    if (words[0] != "pods") return std::nullopt;
  }
  query.pods = words[0] == "pods";
  if ((!query.pods && words[0] != "nodes") || words.size() > 2) return std::nullopt;
  if (words.size() == 2) query.name = words[1];
  if (query.pods && !query.name.empty() && query.ns.empty()) return std::nullopt;
  return query;
}

json::Value UsageJson(const MeasuredUsage& usage) {
  return json::Object{
      {"cpu", api::Quantity(usage.cpu_nanos, api::Quantity::kNano).ToString()},
      {"memory", api::Quantity(usage.memory, 0, api::Quantity::Format::kBinarySI).ToString()}};
}

json::Object MetadataOf(const json::Value& object, TimePoint now) {
  const json::Value& meta = object["metadata"];
  json::Object out{{"name", meta["name"]}};
  if (meta["namespace"].is_string()) out.Set("namespace", meta["namespace"]);
  out.Set("creationTimestamp", api::FormatTime(now));
  if (meta["labels"].is_object()) out.Set("labels", meta["labels"]);
  return out;
}

json::Object MetricsOf(const json::Value& object, const MeasuredUsage& time, TimePoint now) {
  return {{"metadata", MetadataOf(object, now)},
          {"timestamp", api::FormatTime(time.at)},
          {"window", api::FormatDuration(time.window)}};
}

std::optional<json::Value> NodeMetricsOf(const json::Value& node, const NodeScraper& scraper, TimePoint now) {
  const auto usage = scraper.Samples(std::string(node["metadata"]["name"].string_or(""))).Node();
  if (!usage) return std::nullopt;
  json::Object metrics = MetricsOf(node, *usage, now);
  metrics.Set("usage", UsageJson(*usage));
  return metrics;
}

// As old as the oldest of its containers' values.
std::optional<json::Value> PodMetricsOf(const json::Value& pod, const NodeScraper& scraper, TimePoint now) {
  const json::Value& meta = pod["metadata"];
  const auto usage = scraper.Samples(std::string(pod["spec"]["nodeName"].string_or("")))
                         .Pod(meta["namespace"].string_or(""), meta["name"].string_or(""));
  if (!usage) return std::nullopt;
  const MeasuredUsage* oldest = nullptr;
  json::Array containers;
  for (const auto& [name, measured] : *usage) {
    if (!oldest || measured.at < oldest->at) oldest = &measured;
    containers.push_back(json::Object{{"name", name}, {"usage", UsageJson(measured)}});
  }
  json::Object metrics = MetricsOf(pod, *oldest, now);
  metrics.Set("containers", std::move(containers));
  return metrics;
}

json::Value ResourceListDocument() {
  const auto resource = [](const char* name, const char* kind, bool namespaced) {
    return json::Object{{"name", name},
                        {"singularName", ""},
                        {"namespaced", namespaced},
                        {"kind", kind},
                        {"verbs", json::Array{"get", "list"}}};
  };
  return json::Object{{"kind", "APIResourceList"},
                      {"apiVersion", "v1"},
                      {"groupVersion", kApiVersion},
                      {"resources", json::Array{resource("nodes", "NodeMetrics", false),
                                                resource("pods", "PodMetrics", true)}}};
}

void SendJson(net::ResponseStream& stream, int status, const json::Value& body) {
  stream.Send(status, {{"content-type", "application/json"}}, json::Write(body));
}

class MetricsServer : public std::enable_shared_from_this<MetricsServer> {
 public:
  explicit MetricsServer(Client client) : client_(std::move(client)), scraper_(client_) {}

  static Task<void> Serve(std::shared_ptr<MetricsServer> self, std::shared_ptr<net::Request> request,
                          std::shared_ptr<net::ResponseStream> stream) {
    const std::size_t mark = std::min(request->target.find('?'), request->target.size());
    if (request->target.substr(0, mark) == kPath) {
      SendJson(*stream, 200, ResourceListDocument());
      co_return;
    }
    const auto query = ParseQuery(*request);
    if (!query) {
      stream->Send(404, {{"content-type", "text/plain"}}, "404 page not found\n");
      co_return;
    }
    auto answering = Answer(self, *query);
    const auto answer = co_await std::move(answering);
    if (answer)
      SendJson(*stream, 200, query->table ? MetricsTable(*answer) : *answer);
    else
      SendJson(*stream, answer.error().code(), api::StatusFromError(answer.error()));
  }

 private:
  static Task<Result<json::Value>> Answer(std::shared_ptr<MetricsServer> self, MetricsQuery query) {
    if (query.watch)
      co_return Unexpected(Error(Reason::kMethodNotAllowed,
                                 "the server does not allow this method on the "
                                 "requested resource"));
    Executor& workers = self->client_.runtime().worker_executor();
    co_await ResumeOn(workers);
    const auto objects = self->Find(query);
    if (!objects) co_return Unexpected(objects.error());
    const std::set<std::string> nodes = NodesOf(query, *objects);
    if (self->scraper_.Refresh(nodes, false)) {
      auto pause = Callback<bool>(workers, [self](UniqueFunction<void(bool)> done) {
        auto shared = std::make_shared<UniqueFunction<void(bool)>>(std::move(done));
        self->client_.runtime().executor.PostAfter(kSecondSample, [shared] { (*shared)(true); });
      });
      co_await pause;
      self->scraper_.Refresh(nodes, true);
    }
    co_return self->Document(query, *objects);
  }

  // The nodes or pods that are asked about.
  Result<std::vector<json::Value>> Find(const MetricsQuery& query) const {
    const DynamicClient objects = client_.Dynamic(query.pods ? kPods : kNodes);
    if (!query.name.empty()) {
      FLYBALL_ASSIGN(json::Value object, objects.Get(query.ns, query.name));
      return std::vector<json::Value>{std::move(object)};
    }
    ListParams params = query.selection;
    params.resource_version = "0";
    FLYBALL_ASSIGN(auto list, objects.List(query.ns, params));
    return std::move(list.items);
  }

  static std::set<std::string> NodesOf(const MetricsQuery& query, const std::vector<json::Value>& objects) {
    std::set<std::string> nodes;
    for (const json::Value& object : objects)
      nodes.emplace((query.pods ? object["spec"]["nodeName"] : object["metadata"]["name"]).string_or(""));
    nodes.erase("");
    return nodes;
  }

  Result<json::Value> Document(const MetricsQuery& query, const std::vector<json::Value>& objects) const {
    const TimePoint now = client_.runtime().clock().Now();
    json::Array items;
    for (const json::Value& object : objects) {
      auto metrics = query.pods ? PodMetricsOf(object, scraper_, now) : NodeMetricsOf(object, scraper_, now);
      if (metrics) items.push_back(std::move(*metrics));
    }
    const std::string kind = query.pods ? "PodMetrics" : "NodeMetrics";
    if (query.name.empty())
      return json::Value(json::Object{{"kind", kind + "List"},
                                      {"apiVersion", kApiVersion},
                                      {"metadata", json::Object{}},
                                      {"items", std::move(items)}});
    if (items.empty()) {
      const std::string name = (query.pods ? query.ns + "/" : "") + query.name;
      return Unexpected(Error(Reason::kNotFound, std::string(query.pods ? "pods" : "nodes") +
                                                     ".metrics.k8s.io \"" + name + "\" not found"));
    }
    json::Object one{{"kind", kind}, {"apiVersion", kApiVersion}};
    for (const auto& [key, value] : items[0].as_object()) one.Set(key, value);
    return json::Value(std::move(one));
  }

  const Client client_;
  NodeScraper scraper_;
};

json::Value Rule(json::Array groups, json::Array resources, json::Array verbs) {
  return json::Object{
      {"apiGroups", std::move(groups)}, {"resources", std::move(resources)}, {"verbs", std::move(verbs)}};
}

json::Value Role(const char* name, json::Object labels, json::Array rules) {
  return json::Object{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                      {"kind", "ClusterRole"},
                      {"metadata", json::Object{{"name", name}, {"labels", std::move(labels)}}},
                      {"rules", std::move(rules)}};
}

}  // namespace

std::vector<json::Value> MetricsApiObjects() {
  constexpr int kPriority = 100;  // as metrics-server's
  json::Value service =
      json::Object{{"apiVersion", "apiregistration.k8s.io/v1"},
                   {"kind", "APIService"},
                   {"metadata", json::Object{{"name", "v1beta1.metrics.k8s.io"}}},
                   {"spec", json::Object{{"group", "metrics.k8s.io"},
                                         {"version", "v1beta1"},
                                         {"groupPriorityMinimum", kPriority},
                                         {"versionPriority", kPriority},
                                         {"insecureSkipTLSVerify", true},
                                         {"service", json::Object{{"namespace", kMetricsServiceNamespace},
                                                                  {"name", kMetricsServiceName},
                                                                  {"port", 443}}}}}};
  json::Object aggregate;
  for (const char* role : {"view", "edit", "admin"})
    aggregate.Set(std::string("rbac.authorization.k8s.io/aggregate-to-") + role, "true");
  json::Value binding = json::Object{
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", json::Object{{"name", kMetricsUser}}},
      {"roleRef",
       json::Object{
           {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", kMetricsUser}}},
      {"subjects",
       json::Array{json::Object{
           {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", kMetricsUser}}}}};
  return {Role("system:aggregated-metrics-reader", std::move(aggregate),
               {Rule({"metrics.k8s.io"}, {"pods", "nodes"}, {"get", "list", "watch"})}),
          Role(kMetricsUser, {},
               {Rule({""}, {"pods", "nodes"}, {"get", "list"}), Rule({""}, {"nodes/proxy"}, {"get"})}),
          std::move(binding), std::move(service)};
}

net::Handler NewMetricsApi(Client client) {
  auto server = std::make_shared<MetricsServer>(std::move(client));
  return [server](std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream) {
    return MetricsServer::Serve(server, std::move(request), std::move(stream));
  };
}

}  // namespace flyball::metrics
