#include "server/audit/audit_webhook.h"

#include <utility>

#include "base/observe/log.h"
#include "client/config.h"
#include "net/http/origin.h"

namespace flyball::server {
namespace {

std::string EventList(const AuditBatchEntries& batch) {
  std::string body = R"({"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[)";
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (i > 0) body += ',';
    body += *batch[i]->text;
  }
  return body + "]}";
}

}  // namespace

// What deliveries share.
struct AuditWebhook::Core {
  Core(std::shared_ptr<RestClient> c, std::string p, const AuditWebhookOptions& o, Executor& e, Random& r,
       Metrics& m)
      : client(std::move(c)),
        path(std::move(p)),
        initial_backoff(o.initial_backoff),
        executor(e),
        random(r),
        failed(m.GetCounter("apiserver_audit_error_total",
                            "Counter of audit events that failed to be audited properly. Plugin identifies "
                            "the plugin affected by the error.",
                            {{"plugin", "webhook"}})) {}

  const std::shared_ptr<RestClient> client;
  const std::string path;
  const Duration initial_backoff;
  Executor& executor;
  Random& random;
  Counter& failed;
  Mutex mu;
  bool aborted FLYBALL_GUARDED_BY(mu) = false;
  std::set<std::shared_ptr<Delivery>> deliveries FLYBALL_GUARDED_BY(mu);
};

// One batch on its way. Lives until it is delivered or given up.
class AuditWebhook::Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  Delivery(std::shared_ptr<Core> core, std::string body, std::size_t events, UniqueFunction<void(bool)> done)
      : core_(std::move(core)), body_(std::move(body)), events_(events), done_(std::move(done)) {}

  void Attempt() {
    RestRequest request;
    request.verb = "POST";
    request.path = core_->path;
    request.body = body_;
    request.max_retries = 0;
    auto call = core_->client->Start(
        std::move(request), [self = shared_from_this()](Result<RestResponse> r) { self->OnResponse(r); });
    MutexLock lock(mu_);
    call_ = std::move(call);
  }

  void Abort() {
    std::shared_ptr<RestCall> call;
    bool was_waiting = false;
    {
      MutexLock lock(mu_);
      aborted_ = true;
      was_waiting = timer_ != kNoTimer && core_->executor.Cancel(timer_);
      call = call_;
    }
    if (call) call->Cancel();
    if (was_waiting) Finish(false);
  }

 private:
  void OnResponse(const Result<RestResponse>& response) {
    if (response) return Finish(true);
    bool again = false;
    {
      MutexLock lock(mu_);
      again = !aborted_ && ++attempt_ < kAttempts;
      if (again)
        timer_ = core_->executor.PostAfter(Backoff(), [self = shared_from_this()] { self->Retry(); });
    }
    if (again) return;
    log::Error("audit events could not be sent to the webhook",
               {{"events", std::to_string(events_)}, {"error", response.error().message()}});
    core_->failed.Add(static_cast<double>(events_));
    Finish(false);
  }

  void Retry() {
    {
      MutexLock lock(mu_);
      timer_ = kNoTimer;
    }
    Attempt();
  }

  Duration Backoff() FLYBALL_REQUIRES(mu_) {
    double seconds = std::chrono::duration<double>(core_->initial_backoff).count();
    for (int i = 1; i < attempt_; ++i) seconds *= kBackoffFactor;
    seconds *= 1 + kJitter * core_->random.Unit();
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }

  void Finish(bool sent) {
    {
      MutexLock lock(core_->mu);
      core_->deliveries.erase(shared_from_this());
    }
    if (auto done = std::exchange(done_, nullptr)) done(sent);
  }

  const std::shared_ptr<Core> core_;
  const std::string body_;
  const std::size_t events_;
  UniqueFunction<void(bool)> done_;
  Mutex mu_;
  std::shared_ptr<RestCall> call_ FLYBALL_GUARDED_BY(mu_);
  TimerId timer_ FLYBALL_GUARDED_BY(mu_) = kNoTimer;
  int attempt_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool aborted_ FLYBALL_GUARDED_BY(mu_) = false;
};

Result<std::unique_ptr<AuditWebhook>> AuditWebhook::Make(const AuditWebhookOptions& options,
                                                         Executor& executor, Random& random,
                                                         Metrics& metrics) {
  auto config = LoadKubeconfig({.path = options.config_file}, executor.clock());
  if (!config) return Unexpected(BadRequest("initializing audit webhook: " + config.error().message()));
  // The server's URL is the whole address: its path is not a prefix of others.
  const auto origin = net::ParseOrigin(config->http.url);
  if (!origin) return Unexpected(BadRequest("initializing audit webhook: " + origin.error().message()));
  config->http.url = std::string(origin->tls ? "https://" : "http://") + origin->authority();
  std::string path = origin->path_prefix.empty() ? "/" : origin->path_prefix;
  auto client = NewRestClient(*config, {executor, random, metrics, nullptr, true});
  if (!client) return Unexpected(BadRequest("initializing audit webhook: " + client.error().message()));
  return std::unique_ptr<AuditWebhook>(new AuditWebhook(
      std::make_shared<Core>(std::move(*client), std::move(path), options, executor, random, metrics)));
}

void AuditWebhook::Send(const AuditBatchEntries& batch, UniqueFunction<void(bool)> done) {
  auto delivery = std::make_shared<Delivery>(core_, EventList(batch), batch.size(), std::move(done));
  {
    MutexLock lock(core_->mu);
    if (!core_->aborted) core_->deliveries.insert(delivery);
  }
  delivery->Attempt();
}

void AuditWebhook::Abort() {
  std::set<std::shared_ptr<Delivery>> deliveries;
  {
    MutexLock lock(core_->mu);
    core_->aborted = true;
    deliveries = core_->deliveries;
  }
  for (const auto& delivery : deliveries) delivery->Abort();
}

}  // namespace flyball::server
