#include "controllers/bootstrap/bootstrap_controllers.h"

#include <optional>
#include <string>
#include <vector>

#include "controllers/bootstrap/bootstrap_token.h"

namespace flyball::controllers {
namespace {

constexpr char kClusterInfo[] = "cluster-info";
constexpr char kPublicNamespace[] = "kube-public";
constexpr char kSignedKey[] = "kubeconfig";
constexpr std::string_view kSignaturePrefix = "jws-kubeconfig-";

bool IsClusterInfo(const ConfigMap& map) {
  return map.metadata.name == kClusterInfo && map.metadata.namespace_ == kPublicNamespace;
}

// The ConfigMap with its correct signatures, and when the first of them expires.
struct SignedInfo {
  ConfigMap map;
  std::optional<TimePoint> next_expiry;
};

SignedInfo SignClusterInfo(const ConfigMap& map, Context& ctx) {
  SignedInfo signed_info{map, std::nullopt};
  auto& data = signed_info.map.data;
  std::erase_if(data, [](const auto& entry) { return entry.first.starts_with(kSignaturePrefix); });
  const std::string& content = map.data.at(kSignedKey);
  for (const auto& secret : ctx.lister<Secret>().List(kBootstrapTokenNamespace)) {
    const auto token = TokenForSigning(*secret, ctx.Now());
    if (!token) continue;
    data[std::string(kSignaturePrefix) + token->id] = DetachedSignature(content, *token);
    if (const auto expiry = TokenExpiry(*secret))
      signed_info.next_expiry = std::min(signed_info.next_expiry.value_or(*expiry), *expiry);
  }
  return signed_info;
}

Result<Action> SignInfo(const ConfigMap& map, Context& ctx) {
  if (!IsClusterInfo(map) || !map.data.contains(kSignedKey)) return Done();
  const SignedInfo wanted = SignClusterInfo(map, ctx);
  if (wanted.map.data != map.data) {
    const auto written = ctx.client().Update(wanted.map);
    if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  }
  // An expired token no longer signs, whether or not it has been cleaned up.
  return wanted.next_expiry ? RequeueAfter(*wanted.next_expiry - ctx.Now()) : Done();
}

Result<Action> CleanToken(const Secret& secret, Context& ctx) {
  if (!IsBootstrapToken(secret)) return Done();
  const auto expiry = TokenExpiry(secret);
  if (!expiry) return Done();
  if (*expiry > ctx.Now()) return RequeueAfter(*expiry - ctx.Now());
  const Status deleted = ctx.client().Delete(secret);
  // Already gone, or another object of the same name.
  if (!deleted && !deleted.error().Is(Reason::kNotFound) && !deleted.error().Is(Reason::kConflict))
    return Unexpected(deleted.error());
  return Done();
}

}  // namespace

Status AddBootstrapSigner(Manager& manager) {
  const auto only_info = [](const ConfigMap& map) { return IsClusterInfo(map); };
  return manager.For<ConfigMap>()
      .Named("bootstrap-signer-controller")
      .When({.create = only_info,
             .update = [](const ConfigMap&, const ConfigMap& map) { return IsClusterInfo(map); },
             .remove = [](const ConfigMap&) { return false; }})
      .Watches<Secret>([](const Secret& secret) -> std::vector<ObjectKey> {
        if (!IsBootstrapToken(secret)) return {};
        return {ObjectKey{kPublicNamespace, kClusterInfo}};
      })
      .Reconcile(&SignInfo);
}

Status AddTokenCleaner(Manager& manager) {
  const auto is_token = [](const Secret& secret) { return IsBootstrapToken(secret); };
  return manager.For<Secret>()
      .Named("token-cleaner-controller")
      .When({.create = is_token,
             .update = [](const Secret&, const Secret& secret) { return IsBootstrapToken(secret); },
             .remove = [](const Secret&) { return false; }})
      .Reconcile(&CleanToken);
}

}  // namespace flyball::controllers
