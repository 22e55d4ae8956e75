#include "server/webhook/webhook_caller.h"

#include <algorithm>

#include "api/values/duration.h"
#include "api/values/ip_address.h"
#include "client/response_error.h"
#include "net/http/origin.h"
#include "net/http/redirect.h"
#include "server/forward/service_endpoints.h"

namespace flyball::server {
namespace {

constexpr std::string_view kUserAgent = "kube-apiserver-admission";

bool IsLocal(const std::string& host) {
  const auto ip = api::ParseIp(host);
  return host == "localhost" || (ip && ip->IsLoopback());
}

// Whole seconds, rounded up.
Duration RoundedUp(Duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return seconds < time ? seconds + std::chrono::seconds(1) : seconds;
}

// What Go's client says of a call that had no answer.
Error NoAnswer(const std::string& url, const Error& cause) {
  const std::string why = cause.Is(Reason::kTimeout)     ? "context deadline exceeded"
                          : cause.Is(Reason::kCancelled) ? "context canceled"
                                                         : cause.message();
  return Error(cause.Is(Reason::kTimeout) ? Reason::kTimeout : Reason::kConnection, 503,
               "Post \"" + url + "\": " + why);
}

// A path with its query, "/" at least.
std::string TargetOf(std::string_view url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t path = std::min(url.find_first_of("/?#", begin), url.size());
  const std::size_t end = std::min(url.find('#', path), url.size());
  const std::string out(url.substr(path, end - path));
  return out.starts_with('/') ? out : "/" + out;
}

// The body of an answer that is a success to client-go, which takes 200 to 206 for it.
Result<std::string> BodyOf(net::Response response) {
  if (response.status < 200 || response.status > 206)
    return Unexpected(ErrorFromResponse(response.status, response.headers, response.body));
  if (response.body.empty())
    return Unexpected(Error(Reason::kConnection, 503,
                            "0-length response with status code: " + std::to_string(response.status) +
                                " and content type: " + std::string(response.headers.Get("content-type"))));
  return std::move(response.body);
}

}  // namespace

Result<WebhookCaller::Place> WebhookCaller::PlaceAt(const WebhookTarget& target,
                                                    const std::string& url) const {
  const std::string scheme = url.substr(0, url.find("://"));
  if (scheme != "https" && scheme != "http")
    return Unexpected(Error(Reason::kConnection, 503, "unsupported protocol scheme \"" + scheme + "\""));
  const std::string server_name = target.service ? target.service->ServerName() : "";
  if (target.service) {
    const auto& service = *target.service;
    const std::string authority = server_name + ":" + std::to_string(service.port);
    if (url.starts_with("https://" + authority + "/")) {
      FLYBALL_ASSIGN(const ServiceAddress address,
                     ResolveService(catalog_, random_, service.namespace_name, service.name, service.port));
      return Place{address.Url(), server_name, authority};
    }
  }
  FLYBALL_ASSIGN(const net::Origin origin, net::ParseOrigin(url.substr(0, url.find_first_of("?#"))));
  return Place{scheme + "://" + origin.authority(), server_name, "", IsLocal(origin.host)};
}

Task<Result<net::Response>> WebhookCaller::Send(const WebhookTarget& target, const Step& step, Limits limits,
                                                Executor& resume) {
  const auto place = PlaceAt(target, step.url);
  if (!place) co_return Unexpected(NoAnswer(step.url, place.error()));
  auto transport = transports_.To(place->url, {target.ca_pem, place->server_name, false, place->http2});
  if (!transport) co_return Unexpected(transport.error());
  net::Request request;
  request.method = step.method;
  request.target = TargetOf(step.url);
  request.body = step.body;
  if (step.method == "POST") request.headers.Set("content-type", "application/json");
  request.headers.Set("accept", "application/json, */*");
  request.headers.Set("user-agent", std::string(kUserAgent));
  if (!place->host_header.empty()) request.headers.Set("host", place->host_header);
  const RemoteLimits remote{limits.timeout, limits.max_answer_bytes};
  auto fetch = calls_.Fetch(*transport, std::move(request), remote, resume);
  auto response = co_await std::move(fetch);
  if (!response) co_return Unexpected(NoAnswer(step.url, response.error()));
  co_return std::move(*response);
}

Task<Result<std::string>> WebhookCaller::Post(const WebhookTarget& target, std::string body, Limits limits,
                                              Executor& resume) {
  limits.timeout = std::min(limits.timeout, kMaxTime);
  Step step{"POST", target.ShownUrl() + "?timeout=" + api::FormatDuration(RoundedUp(limits.timeout)),
            std::move(body)};
  if (!step.url.starts_with("https://"))
    co_return Unexpected(BadRequest("the URL of a webhook must begin with https://"));
  const SteadyTime end = resume.clock().Steady() + limits.timeout;
  for (int sent = 1;; ++sent) {
    limits.timeout = std::max(Duration::zero(), Duration(end - resume.clock().Steady()));
    auto sending = Send(target, step, limits, resume);
    FLYBALL_CO_ASSIGN(net::Response response, co_await std::move(sending));
    const std::string location(response.headers.Get("location"));
    if (!net::IsRedirect(response.status) || location.empty()) co_return BodyOf(std::move(response));
    if (sent == kMostRequests)
      co_return Unexpected(
          Error(Reason::kConnection, 503, "Post \"" + location + "\": stopped after 10 redirects"));
    step.url = net::ResolveLocation(step.url, location);
    if (response.status > 303) continue;
    step.method = "GET";
    step.body.clear();
  }
}

}  // namespace flyball::server
