#include "server/custom/version_converter.h"

#include <map>
#include <utility>

#include "api/custom/custom_kind.h"
#include "api/custom/custom_object.h"
#include "server/custom/conversion_review.h"

namespace flyball::server {
namespace {

// The kinds of every version of a definition, served or not, by apiVersion.
using Versions = std::map<std::string, std::shared_ptr<const api::CustomKind>, std::less<>>;

const api::KindInfo* KindIn(const Versions& versions, std::string_view api_version) {
  const auto found = versions.find(api_version);
  return found == versions.end() ? nullptr : &found->second->info();
}

Error NotAVersion(const char* direction, std::string_view api_version) {
  return Error(Reason::kUnknown, 500,
               std::string("request to convert CR ") + direction +
                   " an invalid group/version: " + std::string(api_version));
}

class RenamingConverter final : public VersionConverter {
 public:
  explicit RenamingConverter(Versions versions) : versions_(std::move(versions)) {}

  Task<Result<std::vector<json::Value>>> Convert(std::vector<json::Value> objects,
                                                 std::string_view api_version, Executor&) const override {
    const auto kind = versions_.find(api_version);
    if (kind == versions_.end()) co_return Unexpected(NotAVersion("to", api_version));
    for (auto& object : objects) {
      if (object["apiVersion"].string_or("") == api_version) continue;
      object["apiVersion"] = api_version;
      api::PruneCustomObject(kind->second->schema(), object);
    }
    co_return objects;
  }
  const api::KindInfo* KindOf(std::string_view api_version) const override {
    return KindIn(versions_, api_version);
  }
  bool IsRemote() const override { return false; }

 private:
  const Versions versions_;
};

// Upstream's two families of metrics about conversion webhooks. Thread-safe.
class ConversionMetrics {
 public:
  ConversionMetrics(Metrics& metrics, std::string definition)
      : metrics_(metrics), definition_(std::move(definition)) {}

  // `failure` is "" for a success.
  void Observe(const std::string& failure, const std::string& from, const std::string& to,
               double seconds) const {
    const MetricLabels labels{{"result", failure.empty() ? "success" : "failure"}, {"failure_type", failure}};
    metrics_
        .GetCounter("apiserver_conversion_webhook_request_total",
                    "Counter for conversion webhook requests with success/failure and failure error type",
                    labels)
        .Add();
    metrics_
        .GetHistogram("apiserver_conversion_webhook_duration_seconds", "Conversion webhook request latency",
                      {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60}, labels)
        .Observe(seconds);
    metrics_
        .GetHistogram("apiserver_crd_conversion_webhook_duration_seconds",
                      "CRD webhook conversion duration in seconds",
                      {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048,
                       4.096, 8.192, 16.384},
                      {{"crd_name", definition_},
                       {"from_version", from},
                       {"to_version", to},
                       {"succeeded", failure.empty() ? "true" : "false"}})
        .Observe(seconds);
  }

 private:
  Metrics& metrics_;
  const std::string definition_;
};

class WebhookConverter final : public VersionConverter {
 public:
  WebhookConverter(Versions versions, const json::Value& definition, ConverterContext context)
      : versions_(std::move(versions)),
        target_(WebhookTarget::FromClientConfig(definition["spec"]["conversion"]["webhook"]["clientConfig"])),
        review_version_(
            ReviewVersionOf(definition["spec"]["conversion"]["webhook"]["conversionReviewVersions"])),
        context_(context),
        metrics_(context.metrics, std::string(definition["metadata"]["name"].string_or(""))) {}

  Task<Result<std::vector<json::Value>>> Convert(std::vector<json::Value> objects,
                                                 std::string_view api_version,
                                                 Executor& resume) const override {
    std::vector<std::size_t> places;  // of those that need it
    std::vector<json::Value> asked;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const std::string from(objects[i]["apiVersion"].string_or(""));
      if (from == api_version) continue;
      const auto kind = versions_.find(from);
      if (kind == versions_.end()) co_return Unexpected(NotAVersion("from", from));
      // What is stored may be older than a default of its schema.
      api::DefaultCustomObject(kind->second->schema(), objects[i]);
      places.push_back(i);
      asked.push_back(std::move(objects[i]));
    }
    if (asked.empty()) co_return objects;
    auto asking = Ask(asked, api_version, resume);
    FLYBALL_CO_ASSIGN(std::vector<json::Value> converted, co_await std::move(asking));
    for (std::size_t i = 0; i < places.size(); ++i) objects[places[i]] = std::move(converted[i]);
    co_return objects;
  }
  const api::KindInfo* KindOf(std::string_view api_version) const override {
    return KindIn(versions_, api_version);
  }
  bool IsRemote() const override { return true; }

 private:
  // How much an answer may be larger than its question, beyond an allowance for small ones.
  static constexpr std::size_t kGrowth = 8, kAllowance = 1u << 20;

  Task<Result<std::vector<json::Value>>> Ask(const std::vector<json::Value>& objects,
                                             std::string_view api_version, Executor& resume) const {
    const auto kind = versions_.find(api_version);
    if (kind == versions_.end()) co_return Unexpected(NotAVersion("to", api_version));
    if (review_version_.empty())
      co_return Unexpected(Error(Reason::kUnknown, 500, "no supported conversion review versions"));
    const SteadyTime began = context_.clock.Steady();
    std::string failure;
    auto exchange = Exchange(objects, api_version, failure, resume);
    auto outcome = co_await std::move(exchange);
    const auto seconds = std::chrono::duration<double>(context_.clock.Steady() - began).count();
    metrics_.Observe(failure, ShortVersion(objects.front()["apiVersion"].string_or("")),
                     ShortVersion(api_version), seconds);
    if (!outcome) co_return Unexpected(outcome.error());
    for (auto& object : *outcome) api::PruneCustomObject(kind->second->schema(), object);
    co_return std::move(*outcome);
  }

  Task<Result<std::vector<json::Value>>> Exchange(const std::vector<json::Value>& objects,
                                                  std::string_view api_version, std::string& failure,
                                                  Executor& resume) const {
    const std::string uid = context_.random.Uuid();
    std::string body = ConversionRequest(review_version_, uid, api_version, objects);
    const WebhookCaller::Limits limits{.max_answer_bytes = kAllowance + kGrowth * body.size()};
    auto posting = context_.webhooks.Post(target_, std::move(body), limits, resume);
    const auto answer = co_await std::move(posting);
    if (!answer) {
      const auto& first = objects.front();
      failure = kConversionCallFailure;
      co_return Unexpected(Error(Reason::kUnknown, 500,
                                 "conversion webhook for " + std::string(first["apiVersion"].string_or("")) +
                                     ", Kind=" + std::string(first["kind"].string_or("")) +
                                     " failed: " + answer.error().message()));
    }
    co_return ReadConversionAnswer(*answer, review_version_, uid, api_version, objects, failure);
  }

  static std::string ShortVersion(std::string_view api_version) {
    return std::string(api_version.substr(api_version.find('/') + 1));
  }

  const Versions versions_;
  const WebhookTarget target_;
  const std::string review_version_;
  const ConverterContext context_;
  const ConversionMetrics metrics_;
};

}  // namespace

std::shared_ptr<const VersionConverter> NewVersionConverter(
    const json::Value& definition, const std::vector<std::shared_ptr<const api::CustomKind>>& kinds,
    ConverterContext context) {
  if (kinds.size() < 2) return nullptr;
  Versions versions;
  for (const auto& kind : kinds) versions[kind->info().ApiVersion()] = kind;
  if (definition["spec"]["conversion"]["strategy"].string_or("") == "Webhook")
    return std::make_shared<WebhookConverter>(std::move(versions), definition, context);
  return std::make_shared<RenamingConverter>(std::move(versions));
}

}  // namespace flyball::server
