#include "server/admission/pods/image_policy.h"

#include <algorithm>

#include "api/values/duration.h"
#include "base/observe/log.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "server/admission/basis/requests.h"
#include "server/auth/remote/expiring_cache.h"

namespace flyball::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kAuditPrefix = "imagepolicywebhook.image-policy.k8s.io/";
constexpr std::size_t kReviewCacheSize = 1024;
// Upstream's client has no limit of its own; the request's deadline is a minute.
constexpr Duration kReviewTimeout = seconds(30);

struct ImagePolicyOptions {
  std::string kubeconfig_file;
  Duration allow_ttl{}, deny_ttl{}, retry_backoff{};
  bool default_allow = false;
};

// -1 switches it off, 0 takes the default.
Result<Duration> ReadBounded(const json::Value& value, Duration unit, Duration min, Duration max,
                             Duration by_default) {
  const auto number = value.int_or(0);
  if (number == -1) return Duration::zero();
  if (number == 0) return by_default;
  constexpr std::int64_t kMostNumber = 1'000'000'000;  // beyond every bound, and no overflow
  const Duration duration = unit * std::clamp<std::int64_t>(number, -kMostNumber, kMostNumber);
  if (duration < min || duration > max)
    return Unexpected(BadRequest("valid value is between " + api::FormatDuration(min) + " and " +
                                 api::FormatDuration(max) + ", got " + api::FormatDuration(duration)));
  return duration;
}

Result<ImagePolicyOptions> ReadImagePolicyOptions(const std::optional<std::string>& configuration) {
  if (!configuration) return Unexpected(BadRequest("no config specified"));
  const auto file = json::ParseYaml(*configuration);
  if (!file) return Unexpected(BadRequest(file.error().message()));
  const auto& policy = (*file)["imagePolicy"];
  ImagePolicyOptions options;
  FLYBALL_ASSIGN(options.retry_backoff, ReadBounded(policy["retryBackoff"], milliseconds(1), Duration(1),
                                                    minutes(5), milliseconds(500)));
  FLYBALL_ASSIGN(options.allow_ttl,
                 ReadBounded(policy["allowTTL"], seconds(1), seconds(1), minutes(30), minutes(5)));
  FLYBALL_ASSIGN(options.deny_ttl,
                 ReadBounded(policy["denyTTL"], seconds(1), seconds(1), minutes(30), seconds(30)));
  options.kubeconfig_file = policy["kubeConfigFile"].string_or("");
  options.default_allow = policy["defaultAllow"].bool_or(false);
  return options;
}

json::Value ReviewSpec(const AdmissionRequest& request) {
  const auto& pod = *request.object;
  json::Array containers;
  const auto add = [&](const json::Value& list) {
    if (!list.is_array()) return;
    for (const auto& container : list.as_array())
      containers.push_back(json::Object{{"image", container["image"]}});
  };
  if (request.subresource.empty()) {
    add(pod["spec"]["containers"]);
    add(pod["spec"]["initContainers"]);
  } else {
    add(pod["spec"]["ephemeralContainers"]);
  }
  json::Object annotations;
  if (const auto& all = pod["metadata"]["annotations"]; all.is_object())
    for (const auto& [key, value] : all.as_object())
      if (key.find(".image-policy.k8s.io/") != std::string::npos) annotations.Set(key, value);
  json::Object spec;
  if (!containers.empty()) spec.Set("containers", std::move(containers));
  if (!annotations.empty()) spec.Set("annotations", std::move(annotations));
  if (!request.namespace_name.empty()) spec.Set("namespace", std::string(request.namespace_name));
  return spec;
}

class ImagePolicyWebhook final : public AdmissionPlugin {
 public:
  ImagePolicyWebhook(ImagePolicyOptions options, std::unique_ptr<WebhookClient> client, const Clock& clock)
      : options_(std::move(options)), client_(std::move(client)), answers_(kReviewCacheSize, clock) {}
  std::string_view name() const override { return "ImagePolicyWebhook"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    const bool judged = request.subresource.empty() || request.subresource == "ephemeralcontainers";
    if (!Writes(request) || !IsAboutPods(request) || !judged) co_return Status();
    const json::Value spec = ReviewSpec(request);
    const std::string key = json::Write(spec);
    auto status = answers_.Get(key);
    if (!status) {
      auto answer = co_await Ask(spec, request);
      if (!answer) co_return OnFailure(request, answer.error());
      status = (*answer)["status"];
      const bool allowed = (*status)["allowed"].bool_or(false);
      answers_.Put(key, *status, allowed ? options_.allow_ttl : options_.deny_ttl);
    }
    co_return Judge(request, *status);
  }

 private:
  Task<Result<json::Value>> Ask(const json::Value& spec, const AdmissionRequest& request) const {
    const json::Value review = json::Object{{"kind", "ImageReview"},
                                            {"apiVersion", "imagepolicy.k8s.io/v1alpha1"},
                                            {"metadata", json::Object{}},
                                            {"spec", spec},
                                            {"status", json::Object{{"allowed", false}}}};
    co_return co_await client_->Review(review, request.scope.executor);
  }

  Status OnFailure(const AdmissionRequest& request, const Error& error) const {
    log::Warning("the image policy webhook failed",
                 {{"error", error.message()}, {"allowed", options_.default_allow ? "true" : "false"}});
    if (!options_.default_allow) return Unexpected(AdmissionForbidden(request, error.message()));
    request.scope.audit_annotations[std::string(kAuditPrefix) + "failed-open"] = "true";
    (*request.object)["metadata"]["annotations"]["alpha.image-policy.k8s.io/failed-open"] = "true";
    return {};
  }

  static Status Judge(const AdmissionRequest& request, const json::Value& status) {
    if (const auto& notes = status["auditAnnotations"]; notes.is_object())
      for (const auto& [key, value] : notes.as_object())
        request.scope.audit_annotations[std::string(kAuditPrefix) + key] = value.string_or("");
    if (status["allowed"].bool_or(false)) return {};
    const std::string reason(status["reason"].string_or(""));
    return Unexpected(AdmissionForbidden(
        request, reason.empty() ? "one or more images rejected by webhook backend"
                                : "image policy webhook backend denied one or more images: " + reason));
  }

  const ImagePolicyOptions options_;
  const std::unique_ptr<WebhookClient> client_;
  ExpiringCache<json::Value> answers_;
};

}  // namespace

Result<std::unique_ptr<AdmissionPlugin>> NewImagePolicyWebhook(
    const WebhookContext& context, const std::optional<std::string>& configuration) {
  FLYBALL_ASSIGN(ImagePolicyOptions options, ReadImagePolicyOptions(configuration));
  FLYBALL_ASSIGN(auto client, WebhookClient::Make(options.kubeconfig_file, kReviewTimeout, context,
                                                  options.retry_backoff));
  return std::unique_ptr<AdmissionPlugin>(
      std::make_unique<ImagePolicyWebhook>(std::move(options), std::move(client), context.executor.clock()));
}

}  // namespace flyball::server
