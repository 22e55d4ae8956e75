#include "server/auth/remote/webhook_client.h"

#include "api/values/duration.h"
#include "client/rotating_transport.h"
#include "json/json.h"
#include "net/http/origin.h"

namespace flyball::server {
namespace {

// Upstream: DefaultAuthWebhookRetryBackoff.
constexpr int kAttempts = 5;
constexpr double kDelayFactor = 1.5, kDelayJitter = 0.2;
// A review is small; whoever sends more does not answer the question.
constexpr std::size_t kMaxReviewBytes = 1u << 20;
constexpr std::size_t kMaxErrorText = 512;

// Upstream: DefaultShouldRetry.
bool ShouldRetry(const Error& error) {
  return error.Is(Reason::kInternalError) || error.Is(Reason::kTimeout) ||
         error.Is(Reason::kTooManyRequests) ||
         (error.Is(Reason::kConnection) && error.message().find("reset") != std::string::npos);
}

const char* ResultOf(const Result<json::Value>& outcome) {
  if (outcome) return "success";
  if (outcome.error().Is(Reason::kCancelled)) return "canceled";
  if (outcome.error().Is(Reason::kTimeout)) return "timeout";
  return "error";
}

Error ErrorOf(const net::Response& response) {
  constexpr int kGatewayTimeout = 504, kTooMany = 429, kInternal = 500;
  const Reason reason = response.status == kGatewayTimeout ? Reason::kTimeout
                        : response.status == kTooMany      ? Reason::kTooManyRequests
                        : response.status == kInternal     ? Reason::kInternalError
                                                           : Reason::kUnknown;
  return Error(reason, "the webhook answered " + std::to_string(response.status) + ": " +
                           response.body.substr(0, kMaxErrorText));
}

}  // namespace

Result<std::unique_ptr<WebhookClient>> WebhookClient::Make(const std::string& kubeconfig_path,
                                                           Duration timeout, WebhookContext context,
                                                           Duration first_delay) {
  FLYBALL_ASSIGN(ClientConfig config, LoadKubeconfig({.path = kubeconfig_path}, context.executor.clock()));
  FLYBALL_ASSIGN(const net::Origin origin, net::ParseOrigin(config.http.url));
  config.http.url = std::string(origin.tls ? "https://" : "http://") + origin.authority();
  const std::string path = origin.path_prefix.empty() ? "/" : origin.path_prefix;
  FLYBALL_ASSIGN(auto transport, NewRotatingTransport(config.http, config.tls_source));
  return std::unique_ptr<WebhookClient>(
      new WebhookClient(std::move(config), path + "?timeout=" + api::FormatDuration(timeout),
                        std::move(transport), timeout, context, first_delay));
}

Task<Result<json::Value>> WebhookClient::Review(const json::Value& review, Executor& resume,
                                                std::function<void(const WebhookAttempt&)> attempted) const {
  const std::string body = json::Write(review);
  const std::string kind(review["kind"].string_or(""));
  const Clock& clock = context_.executor.clock();
  Duration delay = first_delay_;
  for (int attempt = 1;; ++attempt) {
    const SteadyTime began = clock.Steady();
    auto outcome = co_await Try(body, kind, resume);
    if (attempted) attempted({ResultOf(outcome), clock.Steady() - began});
    if (outcome || attempt == kAttempts || !ShouldRetry(outcome.error())) co_return outcome;
    const double jitter = 1 + kDelayJitter * context_.random.Unit();
    FLYBALL_CO_TRY(
        co_await context_.calls.Wait(std::chrono::duration_cast<Duration>(delay * jitter), resume));
    delay = std::chrono::duration_cast<Duration>(delay * kDelayFactor);
  }
}

Task<Result<json::Value>> WebhookClient::Try(const std::string& body, std::string_view kind,
                                             Executor& resume) const {
  net::Request request;
  request.method = "POST";
  request.target = target_;
  request.body = body;
  request.headers.Set("content-type", "application/json");
  request.headers.Set("accept", "application/json");
  // Files and plugins are read on a thread that may wait.
  const bool may_block = config_.credentials || config_.tls_source;
  if (may_block) co_await ResumeOn(context_.executor);
  Executor& here = may_block ? context_.executor : resume;
  Result<net::Response> response = Unexpected(InternalError("not sent"));
  const Status authorized = config_.credentials ? config_.credentials->Authorize(request.headers) : Status();
  if (!authorized)
    response = Unexpected(Error(Reason::kUnknown, authorized.error().message()));
  else
    response =
        co_await context_.calls.Fetch(transport_, std::move(request), {timeout_, kMaxReviewBytes}, here);
  if (may_block) co_await ResumeOn(resume);
  if (!response) co_return Unexpected(response.error());
  if (response->status < 200 || response->status > 299) co_return Unexpected(ErrorOf(*response));
  FLYBALL_CO_ASSIGN(json::Value answer, json::Parse(response->body));
  if (answer["kind"].string_or(kind) != kind)
    co_return Unexpected(Error(Reason::kUnknown, "the webhook sent no " + std::string(kind)));
  co_return answer;
}

}  // namespace flyball::server
