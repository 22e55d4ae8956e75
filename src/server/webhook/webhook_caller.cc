#include "server/webhook/webhook_caller.h"

#include <algorithm>

#include "api/values/duration.h"
#include "api/values/ip_address.h"
#include "client/response_error.h"
#include "net/http/origin.h"
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

}  // namespace

Result<WebhookCaller::Place> WebhookCaller::PlaceOf(const WebhookTarget& target) const {
  if (target.service) {
    const auto& service = *target.service;
    FLYBALL_ASSIGN(const ServiceAddress address,
                   ResolveService(catalog_, random_, service.namespace_name, service.name, service.port));
    return Place{address.Url(), service.ServerName(),
                 service.ServerName() + ":" + std::to_string(service.port), service.path};
  }
  FLYBALL_ASSIGN(const net::Origin origin, net::ParseOrigin(target.url));
  if (!origin.tls) return Unexpected(BadRequest("the URL of a webhook must begin with https://"));
  return Place{"https://" + origin.authority(), "", "", origin.path_prefix.empty() ? "/" : origin.path_prefix,
               IsLocal(origin.host)};
}

Task<Result<std::string>> WebhookCaller::Post(const WebhookTarget& target, std::string body, Limits limits,
                                              Executor& resume) {
  limits.timeout = std::min(limits.timeout, kMaxTime);
  const std::string query = "?timeout=" + api::FormatDuration(RoundedUp(limits.timeout));
  const std::string shown = target.ShownUrl() + query;
  const auto place = PlaceOf(target);
  if (!place) co_return Unexpected(NoAnswer(shown, place.error()));
  auto transport = transports_.To(place->url, {target.ca_pem, place->server_name, false, place->http2});
  if (!transport) co_return Unexpected(transport.error());
  net::Request request;
  request.method = "POST";
  request.target = place->path + query;
  request.body = std::move(body);
  request.headers.Set("content-type", "application/json");
  request.headers.Set("accept", "application/json, */*");
  request.headers.Set("user-agent", std::string(kUserAgent));
  if (!place->host_header.empty()) request.headers.Set("host", place->host_header);
  const RemoteLimits remote{limits.timeout, limits.max_answer_bytes};
  auto fetch = calls_.Fetch(*transport, std::move(request), remote, resume);
  auto response = co_await std::move(fetch);
  if (!response) co_return Unexpected(NoAnswer(shown, response.error()));
  // client-go takes 200 to 206 for success.
  if (response->status < 200 || response->status > 206)
    co_return Unexpected(ErrorFromResponse(response->status, response->headers, response->body));
  if (response->body.empty())
    co_return Unexpected(
        Error(Reason::kConnection, 503,
              "0-length response with status code: " + std::to_string(response->status) +
                  " and content type: " + std::string(response->headers.Get("content-type"))));
  co_return std::move(response->body);
}

}  // namespace flyball::server
