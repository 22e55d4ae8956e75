#include "server/auth/authentication.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "net/tls/pki.h"
#include "server/auth/bearer_token.h"
#include "server/auth/csv.h"
#include "server/auth/trusted_authorities.h"
#include "server/request/request_info.h"

namespace flyball::server {
namespace {

Error Unauthorized() {
  return Error(Reason::kUnauthorized, "Unauthorized");
}

class CertificateAuthenticator final : public Authenticator {
 public:
  CertificateAuthenticator() = default;
  CertificateAuthenticator(std::shared_ptr<const TrustedAuthorities> authorities, const Clock& clock)
      : authorities_(std::move(authorities)), clock_(&clock) {}

  Result<std::optional<User>> Authenticate(const net::Request& request) override {
    const auto& peer = request.peer;
    if (peer.certificate_sha256.empty()) return std::optional<User>();
    if (!IsTrusted(peer)) return Unexpected(Unauthorized());
    User user;
    user.name = peer.certificates ? peer.certificates->common_name() : peer.common_name;
    user.groups = peer.certificates ? peer.certificates->organizations() : peer.organizations;
    // Whatever groups it names: they are those of a user, and it has none.
    if (user.name.empty()) return std::optional<User>();
    user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + peer.certificate_sha256};
    return std::optional(std::move(user));
  }

 private:
  // Requests of this process come without certificates, and are verified.
  bool IsTrusted(const net::Peer& peer) const {
    if (!authorities_ || !peer.certificates) return peer.verified;
    return authorities_->Get()->VerifyClient(*peer.certificates, clock_->Now()).has_value();
  }

  const std::shared_ptr<const TrustedAuthorities> authorities_;
  const Clock* const clock_ = nullptr;
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

// Without empty ones, which are nobody's, and without the blanks around them.
std::vector<std::string> SplitGroups(std::string_view text) {
  std::vector<std::string> groups;
  for (const std::string& word : SplitText(text, ','))
    if (const auto group = Trimmed(word); !group.empty()) groups.emplace_back(group);
  return groups;
}

Result<std::map<std::string, User>> ReadTokens(const std::string& path, std::string_view text) {
  FLYBALL_ASSIGN(const auto records, ParseCsv(text));
  std::map<std::string, User> tokens;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    if (record.size() < 3)
      return Unexpected(BadRequest("token file '" + path +
                                   "' must have at least 3 columns (token, user name, user uid), found " +
                                   std::to_string(record.size())));
    const std::string number = std::to_string(i + 1);
    if (record[0].empty()) {
      log::Warning("the token file has an empty token, which is left out",
                   {{"file", path}, {"record", number}});
      continue;
    }
    User user{record[1], record[2], {}, {}};
    if (record.size() > 3) user.groups = SplitGroups(record[3]);
    if (!tokens.insert_or_assign(record[0], std::move(user)).second)
      log::Warning("the token file has a token twice; the last one counts",
                   {{"file", path}, {"record", number}});
  }
  return tokens;
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

std::unique_ptr<Authenticator> NewCertificateAuthenticator() {
  return std::make_unique<CertificateAuthenticator>();
}

std::unique_ptr<Authenticator> NewCertificateAuthenticator(
    std::shared_ptr<const TrustedAuthorities> authorities, const Clock& clock) {
  return std::make_unique<CertificateAuthenticator>(std::move(authorities), clock);
}

std::unique_ptr<TokenAuthenticator> NewTokenAuthenticator(std::map<std::string, User> tokens) {
  return std::make_unique<StaticTokens>(std::move(tokens));
}

Result<std::unique_ptr<TokenAuthenticator>> NewTokenFileAuthenticator(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return Unexpected(BadRequest("cannot read the token file " + path));
  auto tokens = ReadTokens(path, text.str());
  if (!tokens) return Unexpected(BadRequest("token file " + path + ": " + tokens.error().message()));
  return NewTokenAuthenticator(std::move(*tokens));
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
  if (const auto token = BearerToken(request)) {
    const std::vector<std::string> own_audiences;
    MaybeTokenIdentity identity = std::optional<TokenIdentity>();
    if (!token->empty()) identity = co_await AuthenticateToken(*token, own_audiences, resume);
    if (identity && *identity) co_return std::move((*identity)->user);
    refused = true;
  }
  if (refused) co_return Unexpected(Unauthorized());
  co_return Anonymous(request);
}

bool AuthenticatorChain::IsIdentityHeader(std::string_view name) const {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const auto& [requests, tokens, names, prefixes] = methods_;
  return name == "authorization" || begins("x-remote-") || begins("impersonate-") ||
         std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(), begins);
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
