#include "cli/addons/cluster_addons.h"

#include "base/run/notification.h"

namespace flyball::cli {
namespace {

constexpr char kAddonRole[] = "flyball:addons";
constexpr char kRbacApiGroup[] = "rbac.authorization.k8s.io";

json::Value TextArray(std::initializer_list<const char*> texts) {
  json::Array array;
  for (const char* text : texts) array.push_back(text);
  return array;
}

json::Value AddonRule(const char* group, std::initializer_list<const char*> resources,
                      std::initializer_list<const char*> verbs) {
  return json::Object{
      {"apiGroups", TextArray({group})}, {"resources", TextArray(resources)}, {"verbs", TextArray(verbs)}};
}

}  // namespace

std::vector<json::Value> AddonRoles() {
  json::Array rules{
      AddonRule("", {"services", "namespaces", "pods", "secrets"}, {"get", "list", "watch"}),
      AddonRule("discovery.k8s.io", {"endpointslices"}, {"get", "list", "watch", "create", "patch"}),
      AddonRule("", {"services"}, {"create", "patch"}),
      AddonRule("networking.k8s.io", {"ingresses"}, {"get", "list", "watch"}),
      AddonRule("networking.k8s.io", {"ingresses/status"}, {"update"}),
      AddonRule("", {"services/status"}, {"update"}),
      AddonRule("", {"events"}, {"create", "patch"}),
      AddonRule("networking.k8s.io", {"ingressclasses"}, {"get", "list", "watch", "create"})};
  json::Value role = json::Object{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                  {"kind", "ClusterRole"},
                                  {"metadata", json::Object{{"name", kAddonRole}}},
                                  {"rules", std::move(rules)}};
  json::Value user = json::Object{{"apiGroup", kRbacApiGroup}, {"kind", "User"}, {"name", kAddonsUser}};
  json::Value binding = json::Object{
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", json::Object{{"name", kAddonRole}}},
      {"roleRef", json::Object{{"apiGroup", kRbacApiGroup}, {"kind", "ClusterRole"}, {"name", kAddonRole}}},
      {"subjects", json::Array{std::move(user)}}};
  return {std::move(role), std::move(binding)};
}

ClusterAddons::ClusterAddons(const Client& client)
    : manager_(client, {.name = "flyball-addons", .drop_managed_fields = true}) {}

Result<std::unique_ptr<ClusterAddons>> ClusterAddons::Start(const Client& client, const Options& options) {
  std::unique_ptr<ClusterAddons> addons(new ClusterAddons(client));
  if (options.dns) FLYBALL_TRY(addons->StartDns(*options.dns));
  if (options.ingress) {
    FLYBALL_ASSIGN(addons->ingress_, network::ClusterIngress::Start(addons->manager_, *options.ingress));
  }
  if (options.balancer) FLYBALL_TRY(network::AddBalancerController(addons->manager_, *options.balancer));
  FLYBALL_TRY(addons->manager_.Start());
  return addons;
}

Status ClusterAddons::StartDns(const Options::Dns& options) {
  FLYBALL_ASSIGN(dns_, dns::ClusterDns::Start(manager_, options.server));
  dns::DnsServiceOptions service = options.service;
  service.port = dns_->port();
  dns::KeepDnsService(manager_, std::move(service));
  return {};
}

ClusterAddons::~ClusterAddons() {
  auto stopped = std::make_shared<Notification<bool>>();
  manager_.Stop([stopped] { stopped->Set(true); });
  stopped->Wait();
  ingress_.reset();
  dns_.reset();
}

}  // namespace flyball::cli
