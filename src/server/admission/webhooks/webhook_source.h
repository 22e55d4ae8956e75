// AdmissionWebhooks: the webhooks that are configured, ready to be matched and called (upstream:
// configuration.webhookConfigurationManager).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "json/value.h"
#include "server/admission/match/match_conditions.h"
#include "server/admission/match/match_resources.h"
#include "server/catalog/catalog.h"
#include "server/webhook/webhook_target.h"

namespace flyball::server {

// One entry of a configuration. Immutable; thread-safe.
struct AdmissionWebhook {
  AdmissionWebhook(std::string configuration_name, const json::Value& entry, std::size_t occurrence);

  const std::string configuration, name;
  const std::string uid;  // tells webhooks of one name apart
  const MatchResources match;
  const MatchConditions conditions;
  const FailurePolicy failure_policy;
  const WebhookTarget target;
  const std::string review_version;  // empty: it knows none of ours
  const Duration timeout;
  const bool has_side_effects;  // also in a dry run
  const bool reinvocable;       // reinvocationPolicy IfNeeded
};
using WebhookPtr = std::shared_ptr<const AdmissionWebhook>;
using WebhookList = std::vector<WebhookPtr>;

// Those of all configurations of one kind, in the order of the configurations' names. Follows the cache: a
// configuration that was acknowledged counts for the next request. Thread-safe.
class AdmissionWebhooks {
 public:
  // `plural`: "mutatingwebhookconfigurations" or "validatingwebhookconfigurations".
  AdmissionWebhooks(const Catalog& catalog, std::string_view plural);

  // Cheap unless a configuration has changed.
  std::shared_ptr<const WebhookList> Current() const;

 private:
  struct Compiled {
    store::Revision revision = 0;
    WebhookList webhooks;
  };
  void Rebuild() const FLYBALL_REQUIRES(mu_);

  const std::shared_ptr<ResourceCache> cache_;
  mutable Mutex mu_;
  mutable store::Revision built_for_ FLYBALL_GUARDED_BY(mu_) = -1;
  mutable std::map<std::string, Compiled> compiled_ FLYBALL_GUARDED_BY(mu_);  // by configuration
  mutable std::shared_ptr<const WebhookList> current_ FLYBALL_GUARDED_BY(mu_) =
      std::make_shared<WebhookList>();
};

}  // namespace flyball::server
