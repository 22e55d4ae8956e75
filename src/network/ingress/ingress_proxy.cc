#include "network/ingress/ingress_proxy.h"

#include <atomic>

#include "base/values/ascii.h"
#include "net/relay/relay.h"

namespace flyball::network {
namespace {

constexpr int kNotFound = 404, kBadGateway = 502, kUnavailable = 503, kGatewayTimeout = 504;

std::string_view TitleOf(int status) {
  switch (status) {
    case kNotFound:
      return "Not Found";
    case kBadGateway:
      return "Bad Gateway";
    case kUnavailable:
      return "Service Unavailable";
    case kGatewayTimeout:
      return "Gateway Timeout";
    default:
      return "Error";
  }
}

std::string PageOf(int status, std::string_view why) {
  const std::string title = std::to_string(status) + " " + std::string(TitleOf(status));
  return "<!DOCTYPE html>\n<html><head><title>" + title + "</title></head>\n<body><h1>" + title + "</h1><p>" +
         std::string(why) + "</p><hr><p>flyball ingress</p></body></html>\n";
}

std::string_view PathOf(const net::Request& request) {
  return std::string_view(request.target).substr(0, request.target.find('?'));
}

std::string PeerIp(const net::Peer& peer) {
  std::string address = peer.address.substr(0, peer.address.rfind(':'));
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return address;
}

// Names in a Connection header are about that connection, too (RFC 9110, 7.6.1).
bool IsNamed(std::string_view list, std::string_view name) {
  for (const auto& word : SplitWords(list, ", \t"))
    if (LowerCase(word) == name) return true;
  return false;
}

net::Headers PassedHeaders(const net::Headers& from) {
  net::Headers to;
  const std::string_view connection = from.Get("connection");
  for (const auto& [name, value] : from)
    if (!net::IsHopByHop(name) && !name.starts_with("sec-websocket-") && !IsNamed(connection, name))
      to.Add(name, value);
  return to;
}

// The time in which an answer has to begin. Whoever takes it first, the timer or the answer, answers.
struct AnswerDeadline {
  explicit AnswerDeadline(std::shared_ptr<net::ResponseStream> s) : stream(std::move(s)) {}
  bool Take() { return !taken.exchange(true); }

  const std::shared_ptr<net::ResponseStream> stream;
  std::atomic<bool> taken{false};
  std::atomic<TimerId> timer{kNoTimer};
  std::atomic<bool> over{false};
};

}  // namespace

net::Handler IngressProxy::Handler() {
  return [self = shared_from_this()](std::shared_ptr<net::Request> request,
                                     std::shared_ptr<net::ResponseStream> stream) -> Task<void> {
    self->Serve(request, stream);
    co_return;
  };
}

void IngressProxy::SetRoutes(std::shared_ptr<const RouteTable> routes) {
  std::map<BackendRef, std::shared_ptr<BackendPool>> pools, dropped;
  MutexLock lock(mu_);
  for (BackendRef& ref : routes->Backends()) {
    const auto old = pools_.find(ref);
    pools.emplace(std::move(ref), old != pools_.end() ? old->second : std::make_shared<BackendPool>());
  }
  dropped.swap(pools_);
  pools_ = std::move(pools);
  routes_ = std::move(routes);
}

std::shared_ptr<const RouteTable> IngressProxy::routes() {
  MutexLock lock(mu_);
  return routes_;
}

std::vector<std::pair<BackendRef, std::shared_ptr<BackendPool>>> IngressProxy::PoolsOf(
    const std::string& ns, const std::string& service) {
  std::vector<std::pair<BackendRef, std::shared_ptr<BackendPool>>> found;
  MutexLock lock(mu_);
  for (auto at = pools_.lower_bound(BackendRef{.ns = ns, .service = service});
       at != pools_.end() && at->first.ns == ns && at->first.service == service; ++at)
    found.emplace_back(*at);
  return found;
}

void IngressProxy::Serve(const std::shared_ptr<net::Request>& request,
                         const std::shared_ptr<net::ResponseStream>& stream) {
  std::shared_ptr<BackendPool> pool;
  {
    MutexLock lock(mu_);
    const BackendRef* ref = routes_->Find(request->headers.Get("host"), PathOf(*request));
    if (ref) pool = pools_.at(*ref);
  }
  if (!pool) return Count(Fail(*stream, kNotFound, "No Ingress has a rule for this host and path."));
  const auto to = pool->Next();
  if (!to) return Count(Fail(*stream, kUnavailable, "The Service has no endpoint that is ready."));
  net::IsUpgrade(*request) ? PassUpgradeOn(to, *request, stream) : PassOn(to, *request, stream);
}

// A client may say whatever it wants about where it comes from, so what it says is replaced.
net::Headers IngressProxy::ForwardedHeaders(const net::Request& request) const {
  net::Headers headers = PassedHeaders(request.headers);
  const std::string address = PeerIp(request.peer);
  headers.Set("x-forwarded-for", address);
  headers.Set("x-real-ip", address);
  headers.Set("x-forwarded-host", std::string(request.headers.Get("host")));
  headers.Set("x-forwarded-proto", request.peer.tls ? "https" : "http");
  headers.Set("x-forwarded-port", std::to_string(request.peer.tls ? ports_.https : ports_.http));
  headers.Remove("forwarded");
  headers.Remove("expect");  // the body has come already
  return headers;
}

void IngressProxy::PassOn(const std::shared_ptr<net::Transport>& to, const net::Request& request,
                          const std::shared_ptr<net::ResponseStream>& stream) {
  net::Request ask{.method = request.method, .target = request.target, .headers = ForwardedHeaders(request)};
  ask.body = request.body;
  const auto deadline = std::make_shared<AnswerDeadline>(stream);
  net::RelayRules rules;
  rules.may_answer = [deadline] { return deadline->Take(); };
  rules.headers = &PassedHeaders;
  rules.unreachable = [self = shared_from_this()](net::ResponseStream& client, const Error& error) {
    const bool late = error.Is(Reason::kTimeout);
    return self->Fail(client, late ? kGatewayTimeout : kBadGateway, "The Service's endpoint did not answer.");
  };
  rules.done = [self = shared_from_this(), deadline](int status) {
    deadline->over = true;
    deadline->stream->executor().Cancel(deadline->timer);
    self->Count(status);
  };
  const auto call = net::RelayAnswer(to, std::move(ask), stream, std::move(rules));
  deadline->timer =
      stream->executor().PostAfter(answer_timeout_, [self = shared_from_this(), deadline, call] {
        if (!deadline->Take()) return;
        self->Fail(*deadline->stream, kGatewayTimeout, "The Service's endpoint did not answer in time.");
        call->Cancel();
      });
  if (deadline->over) stream->executor().Cancel(deadline->timer);
}

void IngressProxy::PassUpgradeOn(const std::shared_ptr<net::Transport>& to, const net::Request& request,
                                 const std::shared_ptr<net::ResponseStream>& stream) {
  net::UpgradeRules rules;
  rules.refused = [](net::ResponseStream& client, const Error& error) {
    if (error.Is(Reason::kConnection) || error.Is(Reason::kTimeout)) {
      const int status = error.Is(Reason::kTimeout) ? kGatewayTimeout : kBadGateway;
      client.Send(status, {{"content-type", "text/html; charset=utf-8"}},
                  PageOf(status, "The Service's endpoint did not answer."));
      return status;
    }
    client.Send(error.code(), {{"content-type", "text/plain; charset=utf-8"}}, error.message());
    return error.code();
  };
  rules.cannot_join = [](net::ResponseStream& client, const Error& error) {
    client.Send(error.code(), {{"content-type", "text/plain; charset=utf-8"}}, error.message());
    return error.code();
  };
  rules.done = [self = shared_from_this()](int status) { self->Count(status); };
  net::RelayUpgrade(to, request, request.target, ForwardedHeaders(request), stream, std::move(rules));
}

int IngressProxy::Fail(net::ResponseStream& stream, int status, std::string_view why) {
  stream.Send(status, {{"content-type", "text/html; charset=utf-8"}}, PageOf(status, why));
  return status;
}

void IngressProxy::Count(int status) {
  metrics_
      .GetCounter("flyball_ingress_requests_total",
                  "Requests to the ingress, by the status they were answered.",
                  {{"code", std::to_string(status)}})
      .Add();
}

}  // namespace flyball::network
