#include "server/handlers/request_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

namespace flyball::server {
namespace {

// Upstream's buckets of apiserver_request_duration_seconds.
const std::vector<double> kSecondsBuckets = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2,
                                             3,     4,     5,    6,   8,   10,  15,  20,  30,  45,   60};

// As metrics name verbs: methods where they say enough, else what the method means here.
std::string_view MetricVerb(const RequestInfo& info) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kVerbs = {{
      {"get", "GET"},
      {"list", "LIST"},
      {"watch", "WATCH"},
      {"create", "POST"},
      {"update", "PUT"},
      {"patch", "PATCH"},
      {"delete", "DELETE"},
      {"deletecollection", "DELETECOLLECTION"},
      {"connect", "CONNECT"},
      {"post", "POST"},
      {"put", "PUT"},
      {"head", "GET"},
      {"options", "OPTIONS"},
      {"proxy", "CONNECT"},
  }};
  const auto* found =
      std::find_if(kVerbs.begin(), kVerbs.end(), [&](const auto& verb) { return verb.first == info.verb; });
  return found == kVerbs.end() ? "other" : found->second;
}

std::string_view ScopeName(const RequestScope& scope) {
  if (!scope.resource) return "";
  if (!scope.info.name.empty() || scope.info.verb == "create") return "resource";
  return scope.info.namespace_name.empty() ? "cluster" : "namespace";
}

// Only what is served has a name of its own.
std::string_view SubresourceName(const RequestScope& scope) {
  const auto* found =
      scope.resource ? scope.resource->kind->FindSubresource(scope.info.subresource) : nullptr;
  return found ? found->name : std::string_view{};
}

}  // namespace

void RequestMetrics::Record(const RequestScope& scope, int code, Duration took) {
  std::string key(MetricVerb(scope.info));
  const auto append = [&key](std::string_view part) { (key += '/') += part; };
  if (scope.resource) {
    for (const auto part : {scope.resource->kind->group, scope.resource->kind->version,
                            scope.resource->kind->plural, SubresourceName(scope), ScopeName(scope)})
      append(part);
  }
  append(std::to_string(code));
  if (scope.dry_run) append("dry");
  Series series;
  {
    MutexLock lock(mu_);
    const auto [slot, fresh] = series_.try_emplace(std::move(key));
    if (fresh) slot->second = Make(scope, code);
    series = slot->second;
  }
  series.total->Add();
  series.seconds->Observe(std::chrono::duration<double>(took).count());
}

RequestMetrics::Series RequestMetrics::Make(const RequestScope& scope, int code) {
  MetricLabels labels{{"component", "apiserver"},
                      {"verb", std::string(MetricVerb(scope.info))},
                      {"dry_run", scope.dry_run ? "All" : ""},
                      {"group", ""},
                      {"version", ""},
                      {"resource", ""},
                      {"subresource", std::string(SubresourceName(scope))},
                      {"scope", std::string(ScopeName(scope))}};
  if (scope.resource) {
    labels["group"] = scope.resource->kind->group;
    labels["version"] = scope.resource->kind->version;
    labels["resource"] = scope.resource->kind->plural;
  }
  auto& seconds = metrics_.GetHistogram("apiserver_request_duration_seconds",
                                        "Seconds from request to answer, by verb, dry run, group, "
                                        "version, resource, subresource and scope.",
                                        kSecondsBuckets, labels);
  labels["code"] = std::to_string(code);
  auto& total = metrics_.GetCounter("apiserver_request_total",
                                    "Requests by verb, dry run, group, "
                                    "version, resource, scope and the code of the answer.",
                                    labels);
  return {&total, &seconds};
}

}  // namespace flyball::server
