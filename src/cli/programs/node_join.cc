#include "cli/programs/node_join.h"

#include <string_view>

#include "server/serving.h"

namespace flyball::cli {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kJoiningGroup = "system:bootstrappers:flyball:default-node-token";

json::Value ClusterBinding(std::string_view name, std::string_view role, std::string_view kind,
                           std::string_view subject) {
  return json::Object{
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", json::Object{{"name", name}}},
      {"roleRef", json::Object{{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", role}}},
      {"subjects", json::Array{json::Object{{"apiGroup", kRbacGroup}, {"kind", kind}, {"name", subject}}}}};
}

constexpr std::string_view kNodeNetwork = "flyball:node-network";

json::Value MayFollow(std::string_view group, json::Array resources) {
  return json::Object{{"apiGroups", json::Array{group}},
                      {"resources", std::move(resources)},
                      {"verbs", json::Array{"list", "watch"}}};
}

}  // namespace

std::vector<json::Value> NodeClientRoles() {
  return {ClusterBinding("flyball:apiserver-to-nodes", "system:kubelet-api-admin", "User",
                         server::kNodeClientUser)};
}

std::vector<json::Value> NodeJoinRoles() {
  const std::string certificates = "system:certificates.k8s.io:certificatesigningrequests:";
  return {ClusterBinding("flyball:node-bootstrapper", "system:node-bootstrapper", "Group", kJoiningGroup),
          ClusterBinding("flyball:node-autoapprove-bootstrap", certificates + "nodeclient", "Group",
                         kJoiningGroup),
          ClusterBinding("flyball:node-autoapprove-certificate-rotation", certificates + "selfnodeclient",
                         "Group", "system:nodes")};
}

std::vector<json::Value> NodeNetworkRoles() {
  json::Array rules{MayFollow("", {"nodes", "services", "pods", "namespaces"}),
                    MayFollow("discovery.k8s.io", {"endpointslices"}),
                    MayFollow("networking.k8s.io", {"networkpolicies", "servicecidrs"})};
  json::Value role = json::Object{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                  {"kind", "ClusterRole"},
                                  {"metadata", json::Object{{"name", kNodeNetwork}}},
                                  {"rules", std::move(rules)}};
  return {std::move(role), ClusterBinding(kNodeNetwork, kNodeNetwork, "Group", "system:nodes")};
}

Status GrantNodeNetworks(const Client& client) {
  for (json::Value& object : NodeNetworkRoles()) {
    const std::string kind(object["kind"].string_or(""));
    const std::string plural = kind == "ClusterRole" ? "clusterroles" : "clusterrolebindings";
    const KindRef ref{std::string(kRbacGroup), "v1", kind, plural, false};
    const auto made = client.Dynamic(ref).Create(std::move(object));
    if (!made && !made.error().Is(Reason::kAlreadyExists)) return Unexpected(made.error());
  }
  return {};
}

std::vector<std::string> JoiningGroups() {
  return {"system:bootstrappers", std::string(kJoiningGroup), "system:authenticated"};
}

}  // namespace flyball::cli
