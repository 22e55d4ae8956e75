// request_cost CASE COUNT [WATCHERS]: sends COUNT requests of one sort to a server in this process, on a
// memory store and virtual time, and nothing else. request_cost.py runs it under callgrind with two counts
// and divides the difference: the instructions that one more request costs. One thread and no clock, so the
// figure repeats.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/sim_executor.h"
#include "server/api_server.h"
#include "server/auth/authorization.h"
#include "store/memory/memory_store.h"

namespace flyball::server {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

// Counts, and keeps nothing else.
struct Counted final : net::ResponseSink {
  void OnHead(int code, const net::Headers&) override { status = code; }
  void OnData(std::string_view data) override { bytes += data.size(); }
  void OnEnd() override {}
  void OnError(const Error&) override { status = -1; }

  int status = 0;
  std::size_t bytes = 0;
};

struct Sent {
  std::string method, target, body, type = "application/json", accept;
};

std::string PodBody(const std::string& name) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","labels":{"app":"web","tier":"front"}},"spec":{"containers":[{"name":"web","image":"nginx:1.27",)"
         R"("ports":[{"containerPort":80,"name":"http"}],"env":[{"name":"MODE","value":"production"}],)"
         R"("resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}},)"
         R"("readinessProbe":{"httpGet":{"path":"/ready","port":80}}},{"name":"log","image":"busybox:1.36",)"
         R"("args":["tail","-f","/log/access"],"volumeMounts":[{"name":"log","mountPath":"/log"}]}],)"
         R"("volumes":[{"name":"log","emptyDir":{}}]}})";
}

Sent Create(int i) {
  return {"POST", std::string(kPods), PodBody("pod-" + std::to_string(i))};
}

std::string OnePod() {
  return std::string(kPods) + "/one";
}

// A value that differs each time, so that each write is one.
std::string Annotation(int i) {
  return R"({"metadata":{"annotations":{"example.com/turn":")" + std::to_string(i) + R"("}}})";
}

Sent PatchOf(int i, const char* type) {
  return {"PATCH", OnePod(), Annotation(i), type};
}

Sent JsonPatch(int i) {
  return {"PATCH", OnePod(),
          R"([{"op":"add","path":"/metadata/labels/turn","value":")" + std::to_string(i) + R"("}])",
          "application/json-patch+json"};
}

Sent Apply(int i) {
  return {"PATCH", OnePod() + "?fieldManager=bench",
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"one","annotations":{"example.com/turn":")" +
              std::to_string(i) + R"("}}})",
          "application/apply-patch+yaml"};
}

Sent StatusPatch(int i) {
  return {"PATCH", OnePod() + "/status",
          R"({"status":{"phase":"Running","message":"turn )" + std::to_string(i) +
              R"(","conditions":[{"type":"Ready","status":")" + (i % 2 == 0 ? "True" : "False") + R"("}]}})",
          "application/strategic-merge-patch+json"};
}

// A webhook that is not asked about the pods here: it wants those of another namespace.
Sent UnmatchedWebhook(std::string_view kind) {
  return {
      "POST", "/apis/admissionregistration.k8s.io/v1/" + std::string(kind) + "webhookconfigurations",
      R"({"metadata":{"name":"other"},"webhooks":[{"name":"other.example.com","sideEffects":"None",)"
      R"("admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"},)"
      R"("namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"other"}},)"
      R"("rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}]})"};
}

using MakeRequest = Sent (*)(int);

// What can be measured, by name.
const std::map<std::string_view, MakeRequest>& Cases() {
  static const std::map<std::string_view, MakeRequest> cases = {
      {"create", Create},
      {"create-beside-webhooks", Create},
      {"create-protobuf-answer",
       [](int i) {
         Sent sent = Create(i);
         sent.accept = kProtobuf;
         return sent;
       }},
      {"get",
       [](int) {
         return Sent{"GET", OnePod()};
       }},
      {"get-protobuf",
       [](int) {
         return Sent{"GET", OnePod(), "", "", std::string(kProtobuf)};
       }},
      {"get-table",
       [](int) {
         return Sent{"GET", OnePod(), "", "", "application/json;as=Table;v=v1;g=meta.k8s.io"};
       }},
      {"patch-strategic", [](int i) { return PatchOf(i, "application/strategic-merge-patch+json"); }},
      {"patch-merge", [](int i) { return PatchOf(i, "application/merge-patch+json"); }},
      {"patch-json", JsonPatch},
      {"patch-status", StatusPatch},
      {"apply", Apply},
  };
  return cases;
}

class Measured {
 public:
  Measured()
      : store_(store::NewMemoryStore(sim_)),
        server_(std::move(*ApiServer::Make({}, *store_, sim_, random_, metrics_))),
        admin_(server_->InProcess({"admin", "", {std::string(kMastersGroup)}, {}})) {}
  ~Measured() {
    for (const auto& watch : watches_) watch->Cancel();
    sim_.RunReady();
  }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

  // False: the server refused it.
  bool Send(Sent sent) {
    const auto sink = std::make_shared<Counted>();
    const auto call = admin_->Start(RequestOf(std::move(sent)), sink);
    sim_.RunReady();
    if (sink->status / 100 == 2) return true;
    std::fprintf(stderr, "answered with status %d\n", sink->status);
    return false;
  }
  void Watch(std::string_view accept) {
    watched_.push_back(std::make_shared<Counted>());
    watches_.push_back(
        admin_->Start(RequestOf({"GET", std::string(kPods) + "?watch=true", "", "", std::string(accept)}),
                      watched_.back()));
    sim_.RunReady();
  }
  std::size_t watched_bytes() const {
    std::size_t total = 0;
    for (const auto& sink : watched_) total += sink->bytes;
    return total;
  }

 private:
  static net::Request RequestOf(Sent sent) {
    net::Request request;
    request.method = std::move(sent.method);
    request.target = std::move(sent.target);
    request.body = std::move(sent.body);
    if (!sent.type.empty()) request.headers.Set("content-type", std::move(sent.type));
    if (!sent.accept.empty()) request.headers.Set("accept", std::move(sent.accept));
    request.headers.Set("user-agent", "bench/1.0");
    return request;
  }

  SimExecutor sim_{1};
  Random random_{1};
  Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<net::Transport> admin_;
  std::vector<std::shared_ptr<Counted>> watched_;
  std::vector<std::shared_ptr<net::Call>> watches_;
};

// "watch-json", "watch-protobuf", "watch-table": patches that so many watchers see.
std::string_view AcceptOfWatch(std::string_view name) {
  if (name == "watch-protobuf") return "application/vnd.kubernetes.protobuf;stream=watch";
  if (name == "watch-table") return "application/json;as=Table;v=v1;g=meta.k8s.io";
  if (name == "watch-metadata") return "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
  return "application/json";
}

int Run(std::string_view name, int count, int watchers) {
  const bool watch = name.starts_with("watch-");
  const auto found = Cases().find(watch ? "patch-merge" : name);
  if (found == Cases().end()) {
    std::fprintf(stderr, "unknown case\n");
    return 2;
  }
  Measured server;
  const std::string account = R"({"metadata":{"name":"default"}})";
  if (!server.Send({"POST", "/api/v1/namespaces/default/serviceaccounts", account}) ||
      !server.Send({"POST", std::string(kPods), PodBody("one")}))
    return 1;
  if (name == "create-beside-webhooks")
    for (const char* kind : {"mutating", "validating"})
      if (!server.Send(UnmatchedWebhook(kind))) return 1;
  for (int i = 0; i < watchers; ++i) server.Watch(AcceptOfWatch(name));
  for (int i = 0; i < count; ++i)
    if (!server.Send(found->second(i))) return 1;
  std::printf("%zu bytes sent to watchers\n", server.watched_bytes());
  return 0;
}

}  // namespace
}  // namespace flyball::server

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: request_cost CASE COUNT [WATCHERS]\n");
    return 2;
  }
  return flyball::server::Run(argv[1], std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 0);
}
