#include "node/registry/registry_auth.h"

#include <algorithm>

#include "base/values/ascii.h"
#include "client/rest_client.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

constexpr std::size_t kMaxTokenAnswer = 1 << 20;
constexpr std::size_t kMaxToken = 64 << 10;

// Reads "Bearer realm="https://x",service="y"", and several such one after the other.
class ChallengeParser {
 public:
  explicit ChallengeParser(std::string_view text) : text_(text) {}

  void AddTo(std::vector<AuthChallenge>& out) {
    for (SkipSpace(); !text_.empty(); SkipSpace()) {
      const std::string word = Word();
      if (word.empty()) return;
      SkipBlanks();
      if (!text_.starts_with('=')) {
        out.push_back({.scheme = LowerCase(word)});
        continue;
      }
      text_.remove_prefix(1);
      SkipBlanks();
      const std::string value = text_.starts_with('"') ? Quoted() : Word();
      if (!out.empty()) Set(out.back(), LowerCase(word), value);
    }
  }

 private:
  static void Set(AuthChallenge& challenge, const std::string& name, const std::string& value) {
    if (name == "realm") challenge.realm = value;
    if (name == "service") challenge.service = value;
    if (name == "scope") challenge.scope = value;
    if (name == "error") challenge.error = value;
  }
  void SkipBlanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  void SkipSpace() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t' || text_[0] == ',')) text_.remove_prefix(1);
  }
  std::string Word() {
    const std::size_t end = std::min(text_.find_first_of(" \t,=\""), text_.size());
    std::string word(text_.substr(0, end));
    text_.remove_prefix(end);
    return word;
  }
  std::string Quoted() {
    std::string value;
    std::size_t i = 1;
    for (; i < text_.size() && text_[i] != '"'; ++i) {
      if (text_[i] == '\\' && i + 1 < text_.size()) ++i;
      value += text_[i];
    }
    text_.remove_prefix(std::min(i + 1, text_.size()));
    return value;
  }

  std::string_view text_;
};

std::string BasicHeader(const RegistryCredentials& credentials) {
  return "Basic " + net::Base64Encode(credentials.user + ":" + credentials.password);
}

Error Refused(const std::string& why) {
  return Error(Reason::kUnauthorized,
               "pull access denied, repository does not exist or may require authorization: " + why);
}

// Of a token, which becomes part of a header.
bool IsHeaderText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string TokenUrl(const AuthChallenge& challenge, const std::string& scope) {
  std::string query;
  if (!challenge.service.empty()) query += "&service=" + PercentEncode(challenge.service);
  query += "&scope=" + PercentEncode(challenge.scope.empty() ? scope : challenge.scope);
  return challenge.realm + (challenge.realm.find('?') == std::string::npos ? "?" : "&") + query.substr(1);
}

// With an identity token (upstream: oauth2's refresh_token), which goes into a form.
net::Request RefreshRequest(const AuthChallenge& challenge, const std::string& scope,
                            const std::string& token) {
  net::Request request{.method = "POST"};
  request.headers.Set("content-type", "application/x-www-form-urlencoded");
  request.body = "grant_type=refresh_token&client_id=flyball&service=" + PercentEncode(challenge.service) +
                 "&scope=" + PercentEncode(challenge.scope.empty() ? scope : challenge.scope) +
                 "&refresh_token=" + PercentEncode(token);
  return request;
}

Result<RegistryAuthorization> AskForToken(RegistryHttp& http, const std::string& url,
                                          const AuthChallenge& challenge, const std::string& scope,
                                          const std::optional<RegistryCredentials>& credentials) {
  if (credentials && url.starts_with("https://") && !challenge.realm.starts_with("https://"))
    return Unexpected(
        Refused("the registry wants credentials sent to \"" + challenge.realm + "\", which is not HTTPS"));
  net::Request request;
  std::string at = TokenUrl(challenge, scope);
  if (credentials && !credentials->identity_token.empty()) {
    request = RefreshRequest(challenge, scope, credentials->identity_token);
    at = challenge.realm;
  } else if (credentials) {
    request.headers.Set("authorization", BasicHeader(*credentials));
  }
  FLYBALL_ASSIGN(const auto response, http.Send(at, std::move(request)));
  if (response->status() == 401 || response->status() == 403)
    return Unexpected(Refused("authorization failed: failed to fetch oauth token: unexpected status: " +
                              std::to_string(response->status())));
  if (response->status() != 200)
    return Unexpected(Error(Reason::kServiceUnavailable,
                            "failed to fetch oauth token from \"" + challenge.realm +
                                "\": unexpected status: " + std::to_string(response->status())));
  FLYBALL_ASSIGN(const std::string text, response->ReadAll(kMaxTokenAnswer));
  const auto document = json::Parse(text);
  if (!document) return Unexpected(Refused("the token server's answer is not JSON"));
  std::string token((*document)["token"].string_or(""));
  if (token.empty()) token = (*document)["access_token"].string_or("");
  if (token.empty() || token.size() > kMaxToken || !IsHeaderText(token))
    return Unexpected(Refused("the token server's answer has no token"));
  return RegistryAuthorization{.header = "Bearer " + token, .with_credentials = credentials.has_value()};
}

}  // namespace

std::vector<AuthChallenge> ParseChallenges(const std::vector<std::string_view>& values) {
  std::vector<AuthChallenge> challenges;
  for (const std::string_view value : values) ChallengeParser(value).AddTo(challenges);
  return challenges;
}

Result<RegistryAuthorization> Authorize(RegistryHttp& http, const std::string& url,
                                        const std::vector<AuthChallenge>& challenges,
                                        const std::string& scope,
                                        const std::optional<RegistryCredentials>& credentials) {
  for (const AuthChallenge& challenge : challenges) {
    if (challenge.scheme == "bearer" && !challenge.realm.empty())
      return AskForToken(http, url, challenge, scope, credentials);
    if (challenge.scheme != "basic") continue;
    if (!credentials || credentials->user.empty())
      return Unexpected(Refused("authorization failed: no basic auth credentials"));
    return RegistryAuthorization{.header = BasicHeader(*credentials), .with_credentials = true};
  }
  return Unexpected(Refused("authorization failed: the registry names no way to prove who one is"));
}

}  // namespace flyball::node
