#include "server/auth/authentication.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "net/tls/pki.h"
#include "server/request/request_info.h"

namespace flyball::server {
namespace {

Error Unauthorized() {
  return Error(Reason::kUnauthorized, "Unauthorized");
}

class CertificateAuthenticator final : public Authenticator {
 public:
  Result<std::optional<User>> Authenticate(const net::Request& request) override {
    const auto& peer = request.peer;
    if (peer.certificate_sha256.empty()) return std::optional<User>();
    if (!peer.verified) return Unexpected(Unauthorized());
    User user;
    user.name = peer.common_name;
    user.groups = peer.organizations;
    user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + peer.certificate_sha256};
    return std::optional(std::move(user));
  }
};

class StaticTokens final : public LocalTokenAuthenticator {
 public:
  explicit StaticTokens(std::map<std::string, User> tokens) : tokens_(std::move(tokens)) {}

  MaybeTokenIdentity Check(std::string_view token, const std::vector<std::string>&) override {
    // Every entry is compared in constant time: how long it takes tells nothing about a near miss.
    std::optional<TokenIdentity> found;
    for (const auto& [known, user] : tokens_)
      if (net::ConstantTimeEqual(known, token)) found = TokenIdentity{user};
    return found;
  }

 private:
  const std::map<std::string, User> tokens_;
};

// Splits one line of comma-separated values; fields may be quoted.
std::vector<std::string> SplitCsv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<std::string> SplitGroups(const std::string& text) {
  std::vector<std::string> groups;
  std::stringstream stream(text);
  for (std::string group; std::getline(stream, group, ',');) {
    const auto first = group.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    groups.push_back(group.substr(first, group.find_last_not_of(' ') - first + 1));
  }
  return groups;
}

}  // namespace

Task<MaybeTokenIdentity> LocalTokenAuthenticator::Authenticate(std::string_view token,
                                                               const std::vector<std::string>& audiences,
                                                               Executor&) {
  co_return Check(token, audiences);
}

std::vector<std::string> CommonAudiences(const std::vector<std::string>& audiences,
                                         const std::vector<std::string>& accepted) {
  std::vector<std::string> common;
  for (const auto& audience : audiences)
    if (std::find(accepted.begin(), accepted.end(), audience) != accepted.end()) common.push_back(audience);
  return common;
}

std::string BearerToken(const net::Request& request) {
  const auto header = request.headers.Get("authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (header.size() > kBearer.size()) {
    std::string scheme(header.substr(0, kBearer.size()));
    for (auto& c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (scheme == kBearer) return std::string(header.substr(kBearer.size()));
  }
  // Browsers cannot set headers on a WebSocket: the token travels as a subprotocol.
  constexpr std::string_view kSubprotocol = "base64url.bearer.authorization.k8s.io.";
  const auto offered = request.headers.Get("sec-websocket-protocol");
  const auto at = offered.find(kSubprotocol);
  if (at == std::string_view::npos) return {};
  const auto rest = offered.substr(at + kSubprotocol.size());
  return net::Base64UrlDecode(rest.substr(0, rest.find_first_of(", "))).value_or("");
}

std::unique_ptr<Authenticator> NewCertificateAuthenticator() {
  return std::make_unique<CertificateAuthenticator>();
}

std::unique_ptr<TokenAuthenticator> NewTokenAuthenticator(std::map<std::string, User> tokens) {
  return std::make_unique<StaticTokens>(std::move(tokens));
}

Result<std::unique_ptr<TokenAuthenticator>> NewTokenFileAuthenticator(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Unexpected(BadRequest("cannot read the token file " + path));
  std::map<std::string, User> tokens;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) continue;
    const auto fields = SplitCsv(line);
    if (fields.size() < 3 || fields[0].empty() || fields[1].empty())
      return Unexpected(BadRequest("token file " + path + ", line " + std::to_string(number) +
                                   ": want token,user,uid[,\"group1,group2\"]"));
    User user{fields[1], fields[2], {}, {}};
    if (fields.size() > 3) user.groups = SplitGroups(fields[3]);
    tokens.emplace(fields[0], std::move(user));
  }
  return NewTokenAuthenticator(std::move(tokens));
}

AuthenticatorChain::AuthenticatorChain(Methods methods, std::vector<std::string> api_audiences,
                                       AnonymousAccess anonymous)
    : methods_(std::move(methods)),
      api_audiences_(std::move(api_audiences)),
      anonymous_(std::move(anonymous)) {}

Task<Result<User>> AuthenticatorChain::Authenticate(const net::Request& request, Executor& resume) const {
  bool refused = false;
  for (const auto& method : methods_.requests) {
    auto result = method->Authenticate(request);
    if (!result) refused = true;
    if (!result || !*result) continue;
    User user = std::move(**result);
    if (!user.InGroup(kAuthenticatedGroup)) user.groups.emplace_back(kAuthenticatedGroup);
    co_return user;
  }
  if (const std::string token = BearerToken(request); !token.empty()) {
    const std::vector<std::string> own_audiences;
    auto identity = co_await AuthenticateToken(token, own_audiences, resume);
    if (identity && *identity) co_return std::move((*identity)->user);
    refused = true;
  }
  if (refused) co_return Unexpected(Unauthorized());
  co_return Anonymous(request);
}

Result<User> AuthenticatorChain::Anonymous(const net::Request& request) const {
  const auto may = [&](const std::string& allowed) {
    std::string path;
    return PercentDecode(request.target.substr(0, request.target.find('?')), false, path) && path == allowed;
  };
  const auto& paths = anonymous_.paths;
  if (!anonymous_.enabled || (!paths.empty() && std::none_of(paths.begin(), paths.end(), may)))
    return Unexpected(Unauthorized());
  return User{std::string(kAnonymousUser), "", {std::string(kUnauthenticatedGroup)}, {}};
}

Task<MaybeTokenIdentity> AuthenticatorChain::AuthenticateToken(std::string_view token,
                                                               const std::vector<std::string>& audiences,
                                                               Executor& resume) const {
  const auto& wanted = audiences.empty() ? api_audiences_ : audiences;
  const auto ours = CommonAudiences(wanted, api_audiences_);
  std::optional<Error> first_error;
  for (const auto& method : methods_.tokens) {
    if (ours.empty() && !method->knows_audiences()) continue;
    MaybeTokenIdentity result = std::optional<TokenIdentity>();
    if (auto* local = dynamic_cast<LocalTokenAuthenticator*>(method.get()))
      result = local->Check(token, wanted);
    else
      result = co_await method->Authenticate(token, wanted, resume);
    if (!result && !first_error) first_error = result.error();
    if (!result || !*result) continue;
    TokenIdentity identity = std::move(**result);
    if (!identity.user.InGroup(kAuthenticatedGroup)) identity.user.groups.emplace_back(kAuthenticatedGroup);
    if (!method->knows_audiences()) identity.audiences = ours;
    co_return std::optional(std::move(identity));
  }
  if (first_error) co_return Unexpected(*first_error);
  co_return std::optional<TokenIdentity>();
}

}  // namespace flyball::server
