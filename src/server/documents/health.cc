#include "server/documents/health.h"

namespace flyball::server {
namespace {

// What kube-apiserver does step by step once it listens, and shows as checks. This server has done all of it,
// or started what goes on, before it answers its first request: each of them holds from then on.
constexpr std::string_view kStartSteps[] = {
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
};
constexpr std::string_view kLateStartSteps[] = {"apiservice-openapi-controller",
                                                "apiservice-openapiv3-controller"};

constexpr std::string_view kPages[] = {"/healthz", "/livez", "/readyz"};

Status Done() {
  return {};
}

std::string StepName(std::string_view step) {
  return "poststarthook/" + std::string(step);
}

}  // namespace

std::vector<HealthCheck> HealthChecksOf(std::string_view page, const std::vector<HealthCheck>& own,
                                        const std::function<Status()>& shutdown) {
  const bool ready = page == "/readyz";
  std::vector<HealthCheck> checks;
  for (const HealthCheck& check : own) {
    checks.push_back(check);
    if (check.first == "log" && !ready) checks.emplace_back("loopback-serving-certificate", Done);
    if (check.first != "etcd" || !ready) continue;
    checks.emplace_back("etcd-readiness", check.second);
    checks.emplace_back("informer-sync", Done);
  }
  for (const auto step : kStartSteps) checks.emplace_back(StepName(step), Done);
  checks.emplace_back("autoregister-completion", Done);
  for (const auto step : kLateStartSteps) checks.emplace_back(StepName(step), Done);
  if (ready) checks.emplace_back("shutdown", shutdown);
  return checks;
}

std::vector<std::string> HealthPaths(const std::vector<HealthCheck>& own) {
  std::vector<std::string> paths;
  for (const auto page : kPages) {
    paths.emplace_back(page);
    for (const auto& [name, check] : HealthChecksOf(page, own, Done))
      paths.push_back(std::string(page) + "/" + name);
  }
  return paths;
}

}  // namespace flyball::server
