#include "server/auth/authentication.h"

#include <fstream>
#include <sstream>

#include "net/tls/pki.h"

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

class TokenAuthenticator final : public Authenticator {
 public:
  explicit TokenAuthenticator(std::map<std::string, User> tokens) : tokens_(std::move(tokens)) {}

  Result<std::optional<User>> Authenticate(const net::Request& request) override {
    return AuthenticateToken(BearerToken(request), {});
  }
  Result<std::optional<User>> AuthenticateToken(std::string_view token,
                                                const std::vector<std::string>&) override {
    if (token.empty()) return std::optional<User>();
    // Every entry is compared in constant time: how long it takes tells nothing about a near miss.
    std::optional<User> found;
    for (const auto& [known, user] : tokens_)
      if (net::ConstantTimeEqual(known, token)) found = user;
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

Result<std::optional<User>> Authenticator::AuthenticateToken(std::string_view,
                                                             const std::vector<std::string>&) {
  return std::optional<User>();
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

std::unique_ptr<Authenticator> NewTokenAuthenticator(std::map<std::string, User> tokens) {
  return std::make_unique<TokenAuthenticator>(std::move(tokens));
}

Result<std::unique_ptr<Authenticator>> NewTokenFileAuthenticator(const std::string& path) {
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

Result<User> AuthenticatorChain::Authenticate(const net::Request& request) const {
  std::optional<Error> first_error;
  for (const auto& method : methods_) {
    auto result = method->Authenticate(request);
    if (!result) {
      if (!first_error) first_error = result.error();
      continue;
    }
    if (!*result) continue;
    User user = std::move(**result);
    if (!user.InGroup(kAuthenticatedGroup)) user.groups.emplace_back(kAuthenticatedGroup);
    return user;
  }
  // A bad credential is refused, never treated as no credential.
  if (first_error || !BearerToken(request).empty() || !allow_anonymous_) return Unexpected(Unauthorized());
  return User{std::string(kAnonymousUser), "", {std::string(kUnauthenticatedGroup)}, {}};
}

Result<std::optional<User>> AuthenticatorChain::AuthenticateToken(
    std::string_view token, const std::vector<std::string>& audiences) const {
  std::optional<Error> first_error;
  for (const auto& method : methods_) {
    auto result = method->AuthenticateToken(token, audiences);
    if (!result) {
      if (!first_error) first_error = result.error();
      continue;
    }
    if (!*result) continue;
    User user = std::move(**result);
    if (!user.InGroup(kAuthenticatedGroup)) user.groups.emplace_back(kAuthenticatedGroup);
    return std::optional(std::move(user));
  }
  if (first_error) return Unexpected(*first_error);
  return std::optional<User>();
}

}  // namespace flyball::server
