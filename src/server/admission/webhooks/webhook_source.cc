#include "server/admission/webhooks/webhook_source.h"

#include <utility>

#include "server/admission/webhooks/admission_review.h"

namespace flyball::server {
namespace {

constexpr std::int64_t kDefaultTimeoutSeconds = 10;

bool HasSideEffects(const json::Value& side_effects) {
  const auto text = side_effects.string_or("");
  return text != "None" && text != "NoneOnDryRun";
}

WebhookList WebhooksOf(const std::string& configuration, const json::Value& entries) {
  WebhookList out;
  std::map<std::string, std::size_t> seen;
  if (entries.is_array())
    for (const auto& entry : entries.as_array()) {
      const std::size_t occurrence = seen[std::string(entry["name"].string_or(""))]++;
      out.push_back(std::make_shared<AdmissionWebhook>(configuration, entry, occurrence));
    }
  return out;
}

}  // namespace

AdmissionWebhook::AdmissionWebhook(std::string configuration_name, const json::Value& entry,
                                   std::size_t occurrence)
    : configuration(std::move(configuration_name)),
      name(entry["name"].string_or("")),
      uid(configuration + "/" + name + "/" + std::to_string(occurrence)),
      match(MatchResources::OfWebhook(entry)),
      conditions(MatchConditions::OfWebhook(entry["matchConditions"])),
      failure_policy(FailurePolicyOf(entry["failurePolicy"])),
      target(WebhookTarget::FromClientConfig(entry["clientConfig"])),
      review_version(AdmissionReviewVersionOf(entry["admissionReviewVersions"])),
      timeout(std::chrono::seconds(entry["timeoutSeconds"].int_or(kDefaultTimeoutSeconds))),
      has_side_effects(HasSideEffects(entry["sideEffects"])),
      reinvocable(entry["reinvocationPolicy"].string_or("") == "IfNeeded") {}

AdmissionWebhooks::AdmissionWebhooks(const Catalog& catalog, std::string_view plural)
    : cache_(catalog.Find("admissionregistration.k8s.io", "v1", plural)->cache) {}

std::shared_ptr<const WebhookList> AdmissionWebhooks::Current() const {
  const store::Revision newest = cache_->last_change();
  MutexLock lock(mu_);
  if (newest > built_for_) {
    Rebuild();
    built_for_ = newest;
  }
  return current_;
}

// Only what has changed is compiled again.
void AdmissionWebhooks::Rebuild() const {
  std::map<std::string, Compiled> next;
  auto all = std::make_shared<WebhookList>();
  for (const auto& object : cache_->List({}).objects) {
    Compiled& mine = next[object->name()];
    const auto before = compiled_.find(object->name());
    if (before != compiled_.end() && before->second.revision == object->revision()) {
      mine = std::move(before->second);
    } else {
      mine = {object->revision(), WebhooksOf(object->name(), object->ToValue()["webhooks"])};
    }
    all->insert(all->end(), mine.webhooks.begin(), mine.webhooks.end());
  }
  compiled_ = std::move(next);
  current_ = std::move(all);
}

}  // namespace flyball::server
