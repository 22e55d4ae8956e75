// WebhookClient: asks a review of another server, as a kubeconfig file describes it (upstream:
// GenericWebhook).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "client/config.h"
#include "json/value.h"
#include "server/auth/remote/remote_calls.h"

namespace flyball::server {

// What webhooks share. The parts outlive them.
struct WebhookContext {
  Executor& executor;  // where what may block for a moment runs (reading token files)
  Random& random;
  RemoteCalls& calls;
};

// How one attempt went, as upstream's metrics name it: success, timeout, canceled or error.
struct WebhookAttempt {
  const char* result;
  Duration took;
};

// Thread-safe.
class WebhookClient {
 public:
  // Upstream: DefaultAuthWebhookRetryBackoff.
  static constexpr Duration kFirstDelay = std::chrono::milliseconds(500);

  // BadRequest if the file is no kubeconfig.
  static Result<std::unique_ptr<WebhookClient>> Make(const std::string& kubeconfig_path, Duration timeout,
                                                     WebhookContext context,
                                                     Duration first_delay = kFirstDelay);

  // Posts the review and gives back what comes, an object of that kind. Tried up to five times, with
  // upstream's back-off from `first_delay` on, if the other server is overloaded or breaks down. Tells
  // `attempted` of each. Resumes on `resume`.
  Task<Result<json::Value>> Review(const json::Value& review, Executor& resume,
                                   std::function<void(const WebhookAttempt&)> attempted = {}) const;

 private:
  WebhookClient(ClientConfig config, std::string target, std::shared_ptr<net::Transport> transport,
                Duration timeout, WebhookContext context, Duration first_delay)
      : config_(std::move(config)),
        target_(std::move(target)),
        transport_(std::move(transport)),
        timeout_(timeout),
        context_(context),
        first_delay_(first_delay) {}
  Task<Result<json::Value>> Try(const std::string& body, std::string_view kind, Executor& resume) const;

  const ClientConfig config_;
  const std::string target_;  // path and query
  const std::shared_ptr<net::Transport> transport_;
  const Duration timeout_;
  const WebhookContext context_;
  const Duration first_delay_;
};

}  // namespace flyball::server
