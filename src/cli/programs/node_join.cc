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

std::vector<std::string> JoiningGroups() {
  return {"system:bootstrappers", std::string(kJoiningGroup), "system:authenticated"};
}

}  // namespace flyball::cli
