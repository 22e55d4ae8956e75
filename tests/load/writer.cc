#include "load/writer.h"

#include "json/json.h"

namespace flyball::load {
namespace {

constexpr std::uint64_t kNames = 12;  // few, so that writers meet
constexpr std::string_view kConfigMaps = "configmaps";
constexpr std::string_view kTableAccept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
constexpr std::string_view kMetadataAccept =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

RestRequest Request(std::string verb, std::string path, std::string body = {}) {
  RestRequest request;
  request.verb = std::move(verb);
  request.path = std::move(path);
  request.body = std::move(body);
  request.max_retries = 0;
  return request;
}

}  // namespace

std::string NamespaceName(std::uint64_t i) {
  return "load-" + std::to_string(i);
}

Result<RestResponse> Writer::Ask(const std::string& what, RestRequest request) {
  auto answer = client_.Do(std::move(request));
  tally_.Count(what, answer);
  return answer;
}

void Writer::Send(const std::string& what, RestRequest request) {
  static_cast<void>(Ask(what, std::move(request)));
}

std::string Writer::Path(std::string_view resource, bool with_name) {
  std::string path = resource == "deployments" ? "/apis/apps/v1" : "/api/v1";
  path += "/namespaces/" + NamespaceName(random_.Below(kNamespaces)) + "/" + std::string(resource);
  if (with_name) path += "/o" + std::to_string(random_.Below(kNames));
  return path;
}

std::string Writer::ConfigMapBody(const std::string& name, std::string_view version) {
  json::Object metadata{{"name", name}, {"labels", json::Object{{"load", "yes"}}}};
  if (!version.empty()) metadata.Set("resourceVersion", version);
  return json::Write(
      json::Value(json::Object{{"apiVersion", "v1"},
                               {"kind", "ConfigMap"},
                               {"metadata", std::move(metadata)},
                               {"data", json::Object{{"writer", std::to_string(id_)},
                                                     {"text", std::string(random_.Below(2000), 'x')}}}}));
}

void Writer::Create() {
  auto request =
      Request("POST", Path(kConfigMaps, false), ConfigMapBody("o" + std::to_string(random_.Below(kNames))));
  if (random_.OneIn(8)) request.Query("dryRun", "All");
  Send("create", std::move(request));
}

void Writer::Update() {
  const std::string path = Path(kConfigMaps, true);
  const auto current = Ask("get", Request("GET", path));
  if (!current) return;
  auto object = json::Parse(current->body);
  if (!object) return tally_.Problem("no JSON: " + current->body.substr(0, 200));
  (*object)["data"]["updated"] = std::to_string(random_.Next());
  Send("update", Request("PUT", path, json::Write(*object)));
}

void Writer::Patch() {
  auto request = Request("PATCH", Path(kConfigMaps, true));
  const std::string value = std::to_string(random_.Next());
  switch (random_.Below(3)) {
    case 0:
      request.content_type = "application/merge-patch+json";
      request.body = R"({"data":{"merged":")" + value + "\"}}";
      break;
    case 1:
      request.content_type = "application/strategic-merge-patch+json";
      request.body = R"({"data":{"strategic":")" + value + "\"}}";
      break;
    default:
      request.content_type = "application/json-patch+json";
      request.body = R"([{"op":"add","path":"/data/patched","value":")" + value + "\"}]";
  }
  Send("patch", std::move(request));
}

void Writer::Apply() {
  const std::string name = "o" + std::to_string(random_.Below(kNames));
  auto request = Request("PATCH", Path(kConfigMaps, false) + "/" + name, ConfigMapBody(name));
  request.content_type = "application/apply-patch+yaml";
  request.Query("fieldManager", "writer-" + std::to_string(id_));
  if (random_.OneIn(2)) request.Query("force", "true");
  Send("apply", std::move(request));
}

void Writer::Remove() {
  if (random_.OneIn(40)) {
    auto all = Request("DELETE", Path(kConfigMaps, false));
    all.Query("labelSelector", std::string(kLoadLabel));
    Send("deletecollection", std::move(all));
    return;
  }
  Send("delete", Request("DELETE", Path(kConfigMaps, true)));
}

void Writer::Read() {
  auto request = Request("GET", random_.OneIn(2) ? "/api/v1/configmaps" : Path(kConfigMaps, false));
  switch (random_.Below(5)) {
    case 0:
      request.accept = kTableAccept;
      break;
    case 1:
      request.accept = kMetadataAccept;
      break;
    case 2:
      request.Query("limit", "3");
      break;
    case 3:
      request.Query("resourceVersion", "0").Query("labelSelector", std::string(kLoadLabel));
      break;
    default:
      request.headers.Set("accept-encoding", "identity");
  }
  Send("list", std::move(request));
}

void Writer::ReadDocuments() {
  static const std::vector<std::string> kPaths = {
      "/api",        "/apis",   "/api/v1",  "/apis/apps/v1", "/openapi/v3", "/openapi/v3/apis/apps/v1",
      "/openapi/v2", "/readyz", "/version", "/metrics",      "/healthz",    "/openapi/v3/api/v1",
  };
  auto request = Request("GET", kPaths[random_.Below(kPaths.size())]);
  if (request.path == "/api" || request.path == "/apis") request.accept = kAggregated;
  if (request.path == "/metrics") request.accept = "*/*";
  Send("document", std::move(request));
}

void Writer::Workload() {
  const std::string name = "o" + std::to_string(random_.Below(kNames));
  const std::string path = Path("deployments", false);
  if (random_.OneIn(2)) {
    Send("delete workload", Request("DELETE", path + "/" + name));
    return;
  }
  Send(
      "create workload",
      Request(
          "POST", path,
          R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name +
              R"("},"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},)"
              R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})"));
  auto scale = Request("PATCH", path + "/" + name + "/scale", R"({"spec":{"replicas":2}})");
  scale.content_type = "application/merge-patch+json";
  Send("scale", std::move(scale));
}

// Each must come back as a 4xx.
void Writer::Refused() {
  const std::string path = Path(kConfigMaps, false);
  RestRequest bad;
  switch (random_.Below(5)) {
    case 0:
      bad = Request("POST", path, "{\"apiVersion\":\"v1\",");
      break;
    case 1:
      bad = Request("POST", path, ConfigMapBody("Not A Name"));
      break;
    case 2:
      bad = Request("POST", path, std::string(2000, '['));
      break;
    case 3:
      bad = Request("GET", "/apis/none.example.com/v1/things");
      break;
    default:
      bad = Request("PUT", path + "/o1", ConfigMapBody("o1", "1"));
  }
  const auto answer = Ask("refused", std::move(bad));
  if (answer) tally_.Problem("accepted what must be refused: " + answer->body.substr(0, 200));
}

// A kind comes, is used, and goes.
void Writer::Define() {
  const std::string group = "w" + std::to_string(id_) + "n" + std::to_string(definitions_++) + ".example.com";
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  Send(
      "define",
      Request(
          "POST", definitions,
          R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.)" +
              group + R"("},"spec":{"group":")" + group +
              R"(","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1",)"
              R"("served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
              R"("x-kubernetes-preserve-unknown-fields":true}}}]}})"));
  const std::string things = "/apis/" + group + "/v1/namespaces/" + NamespaceName(0) + "/things";
  for (int i = 0; i < 5; ++i) {
    Send("create custom",
         Request("POST", things,
                 R"({"apiVersion":")" + group + R"(/v1","kind":"Thing","metadata":{"name":"t)" +
                     std::to_string(i) + "\"},\"size\":1}"));
    Send("list custom", Request("GET", things));
  }
  Send("undefine", Request("DELETE", definitions + "/things." + group));
}

void Writer::Step() {
  const auto dice = random_.Below(100);
  if (dice < 25) return Create();
  if (dice < 38) return Update();
  if (dice < 52) return Patch();
  if (dice < 64) return Apply();
  if (dice < 76) return Remove();
  if (dice < 86) return Read();
  if (dice < 91) return ReadDocuments();
  if (dice < 95) return Workload();
  if (dice < 99) return Refused();
  Define();
}

}  // namespace flyball::load
