#include "server/endpoints/component_status.h"

#include <array>

#include "json/json.h"
#include "server/forward/transport_cache.h"
#include "server/registry/object_codec.h"
#include "server/request/api_errors.h"
#include "server/request/list_options.h"
#include "server/request/presentation.h"

namespace flyball::server {
namespace {

constexpr std::string_view kStoreName = "etcd-0";
constexpr std::string_view kHealthPage = "/healthz";
constexpr Duration kProbeTimeout = std::chrono::seconds(20);  // upstream's
constexpr std::size_t kMaxHealthText = 10'000;

struct Part {
  std::string_view name, address;  // an empty address: the store
};
constexpr std::array kParts = {Part{"controller-manager", "127.0.0.1:10257"},
                               Part{"scheduler", "127.0.0.1:10259"}, Part{kStoreName, ""}};

struct Health {
  bool well = false;
  std::string message;
};

// A page read to its end: its status and text, or why there is none. Done once.
class PageSink final : public net::ResponseSink {
 public:
  using Done = UniqueFunction<void(Result<net::Response>)>;
  explicit PageSink(Done done) : done_(std::move(done)) {}
  void OnHead(int status, const net::Headers&) override { page_.status = status; }
  void OnData(std::string_view data) override {
    page_.body += data.substr(0, kMaxHealthText - page_.body.size());
  }
  void OnEnd() override { done_(std::move(page_)); }
  void OnError(const Error& error) override { done_(Unexpected(error)); }

 private:
  net::Response page_;
  Done done_;
};

Task<Result<net::Response>> Fetch(Executor& executor, std::shared_ptr<net::Transport> from) {
  // Nothing of the coroutine is touched once the answer may have come.
  auto start = [&executor, &from](UniqueFunction<void(Result<net::Response>)> done) {
    Executor& timers = executor;
    const auto transport = from;
    net::Request request;
    request.target = kHealthPage;
    const auto call = transport->Start(std::move(request), std::make_shared<PageSink>(std::move(done)));
    timers.PostAfter(kProbeTimeout, [call] { call->Cancel(); });
  };
  auto page = Callback<Result<net::Response>>(executor, std::move(start));
  co_return co_await page;
}

Health HealthOf(const Result<net::Response>& page, const std::string& url) {
  if (!page) return {false, "Get \"" + url + "\": " + page.error().message()};
  if (page->status >= 200 && page->status < 400) return {true, page->body};
  return {false, "HTTP probe failed with statuscode: " + std::to_string(page->status)};
}

json::Value StatusValue(std::string_view name, const Health& health) {
  json::Value condition = json::Object{{"type", "Healthy"}, {"status", health.well ? "True" : "False"}};
  if (!health.message.empty()) condition["message"] = health.message;
  return json::Object{{"kind", "ComponentStatus"},
                      {"apiVersion", "v1"},
                      {"metadata", json::Object{{"name", name}}},
                      {"conditions", json::Array{std::move(condition)}}};
}

class ComponentStatusEndpoint final : public Endpoint {
 public:
  explicit ComponentStatusEndpoint(std::shared_ptr<const LocalComponents> local) : local_(std::move(local)) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream>) override {
    scope.warnings.emplace_back("v1 ComponentStatus is deprecated in v1.19+");
    FLYBALL_CO_ASSIGN(const AnswerFormat format, NegotiateObject(request.headers.Get("accept"), true));
    const Presenter presenter(scope.resource, PresentedFormat(scope, format), scope.now,
                              scope.info.query.Get("includeObject"));
    if (scope.info.verb == "get") {
      for (const auto& part : kParts) {
        if (part.name != scope.info.name) continue;
        const auto object = co_await Ask(state, scope, part);
        co_return presenter.Object(*object);
      }
      co_return Unexpected(Error(Reason::kNotFound, 404,
                                 "componentstatus \"" + scope.info.name + "\" not found",
                                 {.name = scope.info.name, .kind = "componentstatus", .present = true}));
    }
    FLYBALL_CO_ASSIGN(const ListOptions options, ParseListOptions(scope.info, *scope.resource->kind, false));
    const ObjectFilter filter = FilterOf(scope.info, options);
    std::vector<ObjectPtr> objects;
    for (const auto& part : kParts) {
      auto object = co_await Ask(state, scope, part);
      if (filter.Accepts(*object)) objects.push_back(std::move(object));
    }
    Answer answer;
    presenter.AnswerList(std::move(objects), {}, answer);
    co_return answer;
  }

 private:
  Task<ObjectPtr> Ask(ServerState& state, RequestScope& scope, const Part& part) {
    const std::string name(part.name);
    const auto said = part.name == kStoreName ? std::optional(state.store.Health()) : local_->Ask(name);
    Health health;
    if (said) {
      health = *said ? Health{true, "ok"} : Health{false, said->error().message()};
    } else {
      health = co_await Probe(scope, std::string(part.address));
    }
    json::Value value = StatusValue(name, health);
    Bytes bytes = MakeBytes(json::Write(value));
    co_return StoredObject::FromValue(value, std::move(bytes), 0, *scope.resource->kind);
  }

  // Over TLS, as upstream's parts answer; else in plain text, as ours do.
  Task<Health> Probe(RequestScope& scope, std::string address) {
    Health first;
    for (const std::string_view scheme : {"https://", "http://"}) {
      const std::string origin = std::string(scheme) + address;
      auto transport = transports_.To(origin);
      if (!transport) co_return Health{false, transport.error().message()};
      Health health = HealthOf(co_await Fetch(scope.executor, *transport), origin + std::string(kHealthPage));
      if (health.well) co_return health;
      if (first.message.empty()) first = std::move(health);
    }
    co_return first;
  }

  const std::shared_ptr<const LocalComponents> local_;
  TransportCache transports_{net::ClientTls{}};
};

}  // namespace

void LocalComponents::Add(std::string name, Check check) {
  MutexLock lock(mu_);
  checks_[std::move(name)] = std::move(check);
}

void LocalComponents::Remove(const std::string& name) {
  MutexLock lock(mu_);
  checks_.erase(name);
}

std::optional<Status> LocalComponents::Ask(const std::string& name) const {
  MutexLock lock(mu_);
  const auto found = checks_.find(name);
  if (found == checks_.end()) return std::nullopt;
  return found->second();
}

void LocalComponents::AddPage(std::string name, Page page) {
  MutexLock lock(mu_);
  pages_[std::move(name)] = std::move(page);
}

void LocalComponents::RemovePage(const std::string& name) {
  MutexLock lock(mu_);
  pages_.erase(name);
}

std::optional<std::string> LocalComponents::Show(const std::string& name) const {
  MutexLock lock(mu_);
  const auto found = pages_.find(name);
  if (found == pages_.end()) return std::nullopt;
  return found->second();
}

void AddComponentStatusEndpoint(EndpointTable& table, std::shared_ptr<const LocalComponents> local) {
  table.Add("componentstatuses", std::make_unique<ComponentStatusEndpoint>(std::move(local)));
}

}  // namespace flyball::server
