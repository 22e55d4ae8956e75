#include "controllers/bootstrap/bootstrap_token.h"

#include <algorithm>

#include "api/values/time.h"
#include "flyball/pki.h"
#include "json/json.h"

namespace flyball::controllers {
namespace {

constexpr std::string_view kNamePrefix = "bootstrap-token-";
constexpr std::size_t kTokenIdSize = 6;

std::string DataOf(const Secret& secret, const std::string& key) {
  const auto found = secret.data.find(key);
  return found == secret.data.end() ? std::string() : found->second;
}

bool IsTokenId(std::string_view id) {
  return id.size() == kTokenIdSize && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

}  // namespace

bool IsBootstrapToken(const Secret& secret) {
  return secret.type == kBootstrapTokenType && secret.metadata.namespace_ == kBootstrapTokenNamespace;
}

std::optional<TimePoint> TokenExpiry(const Secret& secret) {
  const std::string text = DataOf(secret, "expiration");
  if (text.empty()) return std::nullopt;
  const auto time = api::ParseTime(text);
  return time ? time->ToTimePoint() : TimePoint();
}

std::optional<SigningToken> TokenForSigning(const Secret& secret, TimePoint now) {
  if (!IsBootstrapToken(secret) || !secret.metadata.name.starts_with(kNamePrefix)) return std::nullopt;
  SigningToken token{DataOf(secret, "token-id"), DataOf(secret, "token-secret")};
  if (!IsTokenId(token.id) || secret.metadata.name != std::string(kNamePrefix) + token.id)
    return std::nullopt;
  if (token.secret.empty() || DataOf(secret, "usage-bootstrap-signing") != "true") return std::nullopt;
  if (const auto expiry = TokenExpiry(secret); expiry && *expiry <= now) return std::nullopt;
  return token;
}

std::string DetachedSignature(std::string_view content, const SigningToken& token) {
  const std::string header =
      net::Base64UrlEncode(json::Write(json::Object{{"alg", "HS256"}, {"kid", token.id}}));
  const std::string input = header + "." + net::Base64UrlEncode(content);
  return header + ".." + net::Base64UrlEncode(net::HmacSha256(token.secret, input));
}

}  // namespace flyball::controllers
