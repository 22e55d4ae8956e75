#include "server/auth/bootstrap_tokens.h"

#include <algorithm>
#include <set>

#include "api/values/time.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

constexpr std::string_view kBootstrapNamespace = "kube-system";
constexpr std::string_view kBootstrapType = "bootstrap.kubernetes.io/token";
constexpr std::string_view kBootstrapGroup = "system:bootstrappers";
constexpr std::size_t kTokenIdSize = 6, kTokenSecretSize = 16;

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsTokenPart(std::string_view text, std::size_t size) {
  return text.size() == size && std::all_of(text.begin(), text.end(), IsLowerOrDigit);
}

// system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]
bool IsBootstrapGroup(std::string_view group) {
  constexpr std::string_view kPrefix = "system:bootstrappers:";
  if (!group.starts_with(kPrefix)) return false;
  const auto rest = group.substr(kPrefix.size());
  return !rest.empty() && rest.size() <= 256 && IsLowerOrDigit(rest.back()) &&
         std::all_of(rest.begin(), rest.end(),
                     [](char c) { return IsLowerOrDigit(c) || c == ':' || c == '-'; });
}

class BootstrapTokens final : public LocalTokenAuthenticator {
 public:
  BootstrapTokens(const Catalog& catalog, const Clock& clock)
      : secrets_(catalog.Find("", "v1", "secrets")), clock_(clock) {}

  MaybeTokenIdentity Check(std::string_view token, const std::vector<std::string>&) override {
    const auto dot = token.find('.');
    if (dot == std::string_view::npos) return std::optional<TokenIdentity>();
    const auto id = token.substr(0, dot), given = token.substr(dot + 1);
    if (!IsTokenPart(id, kTokenIdSize) || !IsTokenPart(given, kTokenSecretSize))
      return std::optional<TokenIdentity>();
    const auto object = secrets_->cache->Get(
        ServedResource::CacheKey(kBootstrapNamespace, "bootstrap-token-" + std::string(id)));
    if (!object) return std::optional<TokenIdentity>();
    const json::Value secret = object->ToValue();
    const auto groups = GroupsOf(secret);
    if (!Matches(secret, id, given) || !groups) return std::optional<TokenIdentity>();
    return std::optional(TokenIdentity{{"system:bootstrap:" + std::string(id), "", *groups, {}}});
  }

 private:
  static std::string DataOf(const json::Value& secret, const char* key) {
    return net::Base64Decode(secret["data"][key].string_or("")).value_or("");
  }

  bool Matches(const json::Value& secret, std::string_view id, std::string_view given) const {
    return secret["metadata"]["deletionTimestamp"].is_null() &&
           secret["type"].string_or("") == kBootstrapType &&
           net::ConstantTimeEqual(DataOf(secret, "token-secret"), given) &&
           DataOf(secret, "token-id") == id && !HasExpired(DataOf(secret, "expiration")) &&
           DataOf(secret, "usage-bootstrap-authentication") == "true";
  }

  // What is no time has expired.
  bool HasExpired(const std::string& expiration) const {
    if (expiration.empty()) return false;
    const auto time = api::ParseTime(expiration);
    return !time || time->ToTimePoint() <= clock_.Now();
  }

  // Nothing if one of the further groups is not a bootstrapper's.
  static std::optional<std::vector<std::string>> GroupsOf(const json::Value& secret) {
    std::set<std::string> groups{std::string(kBootstrapGroup)};
    const std::string further = DataOf(secret, "auth-extra-groups");
    for (std::size_t at = 0; !further.empty() && at <= further.size();) {
      const auto comma = std::min(further.find(',', at), further.size());
      const std::string group = further.substr(at, comma - at);
      if (!IsBootstrapGroup(group)) return std::nullopt;
      groups.insert(group);
      at = comma + 1;
    }
    return std::vector<std::string>(groups.begin(), groups.end());
  }

  const ResourcePtr secrets_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<TokenAuthenticator> NewBootstrapTokenAuthenticator(const Catalog& catalog,
                                                                   const Clock& clock) {
  return std::make_unique<BootstrapTokens>(catalog, clock);
}

}  // namespace flyball::server
