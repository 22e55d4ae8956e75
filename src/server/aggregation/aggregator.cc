#include "server/aggregation/aggregator.h"

#include <utility>

#include "base/observe/log.h"
#include "server/aggregation/user_headers.h"
#include "server/auth/bearer_token.h"
#include "server/forward/forwarded_headers.h"
#include "server/forward/relay.h"

namespace flyball::server {
namespace {

// Discovery is cheap everywhere, and clients wait for that of every server (upstream:
// aggregatedDiscoveryTimeout).
constexpr Duration kRemoteDiscoveryTimeout = std::chrono::seconds(5);
constexpr int kServerError = 500, kBadGateway = 502, kServiceUnavailable = 503;

// As Go's http.Error sends it.
Answer PlainError(int code, const std::string& text) {
  Answer answer = TextAnswer(code, text + "\n");
  answer.headers.Set("x-content-type-options", "nosniff");
  return answer;
}

Answer Unreachable(const Error& error) {
  return PlainError(kServiceUnavailable, "error trying to reach service: " + error.message());
}

// A redirect would have the client show its credentials to whoever is named there.
std::optional<Answer> RefuseRedirect(int status, const net::Headers& from) {
  if (status < 300 || status > 399 || !from.Has("location")) return std::nullopt;
  return TextAnswer(kBadGateway, "the backend attempted to redirect this request, which is not permitted");
}

// What comes back, but for what is about the connection, and which origins may read it: that is this server's
// to say.
net::Headers ReturnedHeaders(const net::Headers& from) {
  net::Headers headers;
  for (const auto& [name, value] : from)
    if (!IsHopByHop(name) && !name.starts_with("access-control-")) headers.Add(name, value);
  return headers;
}

// Ends the other server's answer when the request's own time, or that of a discovery document, is over.
class RelayTimer {
 public:
  RelayTimer(Executor& executor, const RequestScope& scope, const std::shared_ptr<net::Call>& call)
      : executor_(executor) {
    if (scope.life) scope.life->OnExpire([call] { call->Cancel(); });
    if (!scope.info.is_resource)
      timer_ = executor.PostAfter(kRemoteDiscoveryTimeout, [call] { call->Cancel(); });
  }
  ~RelayTimer() {
    if (timer_ != kNoTimer) executor_.Cancel(timer_);
  }
  RelayTimer(const RelayTimer&) = delete;
  RelayTimer& operator=(const RelayTimer&) = delete;

 private:
  Executor& executor_;
  TimerId timer_ = kNoTimer;
};

Task<int> PassOn(std::shared_ptr<net::Transport> transport, net::Request ask, RequestScope& scope,
                 std::shared_ptr<net::ResponseStream> stream) {
  RelayRules rules;
  if (scope.life) rules.may_answer = [life = scope.life] { return life->TakeAnswer(); };
  rules.headers = &ReturnedHeaders;
  rules.instead = &RefuseRedirect;
  rules.unreachable = &Unreachable;
  std::optional<RelayTimer> timer;
  auto start = [&](UniqueFunction<void(int)> done) {
    auto shared = std::make_shared<UniqueFunction<void(int)>>(std::move(done));
    rules.done = [shared](int status) { (*shared)(status); };
    const auto call = RelayAnswer(transport, std::move(ask), stream, std::move(rules));
    timer.emplace(scope.executor, scope, call);
  };
  auto ended = Callback<int>(scope.executor, std::move(start));
  co_return co_await ended;
}

Task<int> PassUpgradeOn(std::shared_ptr<net::Transport> transport, const net::Request& request,
                        net::Headers headers, RequestScope& scope,
                        std::shared_ptr<net::ResponseStream> stream) {
  UpgradeRules rules;
  rules.unreachable = [](const Error& error) { return PlainError(kServiceUnavailable, error.message()); };
  auto start = [&](UniqueFunction<void(int)> done) {
    auto shared = std::make_shared<UniqueFunction<void(int)>>(std::move(done));
    rules.done = [shared](int status) { (*shared)(status); };
    RelayUpgrade(transport, request, request.target, std::move(headers), stream, std::move(rules));
  };
  auto ended = Callback<int>(scope.executor, std::move(start));
  co_return co_await ended;
}

}  // namespace

Aggregator::Aggregator(ServerState& state, const std::string& certificate_pem, const std::string& key_pem)
    : client_(std::make_shared<RemoteClient>(state.catalog, state.random, certificate_pem, key_pem)),
      monitor_(std::make_shared<ApiServiceMonitor>(state, client_)) {}

Aggregator::~Aggregator() {
  Stop();
}

RemoteApiPtr Aggregator::Find(const RequestInfo& info) const {
  auto api = monitor_->apis().Find(info);
  if (!api || !info.path.starts_with("/openapi/")) return api;
  // A server without OpenAPI v3 documents is not asked for one.
  for (const auto& document : documents().snapshot()->documents)
    if (document->discovery.group == api->group && document->discovery.version == api->version &&
        !document->open_api_v3_url.empty())
      return api;
  return nullptr;
}

Task<Result<std::optional<Answer>>> Aggregator::Serve(RemoteApiPtr api, RequestScope& scope,
                                                      const net::Request& request,
                                                      std::shared_ptr<net::ResponseStream> stream) {
  if (!api->available) co_return std::optional(PlainError(kServiceUnavailable, "service unavailable"));
  net::Headers headers = ForwardedHeaders(request);
  headers.Set("audit-id", scope.audit_id);
  if (const Status added = AddUserHeaders(scope.user, headers); !added)
    co_return std::optional(PlainError(kServerError, added.error().message()));
  const auto url = client_->Resolve(*api);
  if (!url) {
    log::Error("cannot resolve the Service of an APIService",
               {{"name", api->name}, {"error", url.error().message()}});
    co_return std::optional(PlainError(kServiceUnavailable, "service unavailable"));
  }
  const auto transport = client_->Connect(*api, *url);
  if (!transport) co_return std::optional(PlainError(kServerError, transport.error().message()));
  if (IsUpgrade(request)) {
    FLYBALL_CO_TRY(CheckWebSocketOrigin(request, OtherOrigins::kLoopback));
    auto pass = PassUpgradeOn(*transport, request, std::move(headers), scope, std::move(stream));
    scope.relayed_status = co_await std::move(pass);
    co_return std::optional<Answer>();
  }
  net::Request ask;
  ask.method = request.method;
  ask.target = request.target;
  ask.headers = std::move(headers);
  ask.body = request.body;
  auto pass = PassOn(*transport, std::move(ask), scope, std::move(stream));
  scope.relayed_status = co_await std::move(pass);
  co_return std::optional<Answer>();
}

}  // namespace flyball::server
