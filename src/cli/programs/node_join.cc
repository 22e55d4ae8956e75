#include "cli/programs/node_join.h"

#include <string_view>

#include "api/values/time.h"
#include "net/tls/pki.h"
#include "server/serving.h"

namespace flyball::cli {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kJoiningGroup = "system:bootstrappers:flyball:default-node-token";
constexpr std::size_t kTokenIdSize = 6, kTokenSecretSize = 16;

json::Value ClusterBinding(std::string_view name, std::string_view role, std::string_view kind,
                           std::string_view subject) {
  return json::Object{
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", json::Object{{"name", name}}},
      {"roleRef", json::Object{{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", role}}},
      {"subjects", json::Array{json::Object{{"apiGroup", kRbacGroup}, {"kind", kind}, {"name", subject}}}}};
}

std::string RandomText(std::size_t size) {
  constexpr std::string_view kAlphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
  // Bytes beyond the last whole multiple would make some characters likelier.
  constexpr unsigned kFair = 256 / kAlphabet.size() * kAlphabet.size();
  std::string text;
  while (text.size() < size)
    for (const char c : net::RandomBytes(size))
      if (const auto byte = static_cast<unsigned char>(c); byte < kFair && text.size() < size)
        text += kAlphabet[byte % kAlphabet.size()];
  return text;
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

std::string NewBootstrapToken() {
  return RandomText(kTokenIdSize) + "." + RandomText(kTokenSecretSize);
}

json::Value BootstrapTokenSecret(const std::string& token, TimePoint expires) {
  const std::string id = token.substr(0, kTokenIdSize);
  const auto data = [](std::string_view text) { return json::Value(net::Base64Encode(text)); };
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"type", "bootstrap.kubernetes.io/token"},
      {"metadata", json::Object{{"name", "bootstrap-token-" + id}, {"namespace", "kube-system"}}},
      {"data", json::Object{{"token-id", data(id)},
                            {"token-secret", data(token.substr(kTokenIdSize + 1))},
                            {"expiration", data(api::FormatTime(expires))},
                            {"description", data("With which the nodes of this process join.")},
                            {"usage-bootstrap-authentication", data("true")},
                            {"auth-extra-groups", data(kJoiningGroup)}}}};
}

}  // namespace flyball::cli
