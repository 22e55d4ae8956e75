// Authentication: who sent this request. Several methods are asked in turn; each says who it is, that it has
// no opinion, or that the credentials it understands are bad.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "net/http/http.h"
#include "server/request/user.h"

namespace flyball::server {

class TrustedAuthorities;

// Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // nullopt: the request carries nothing for this method. Unauthorized: it does, and it is not valid.
  virtual Result<std::optional<User>> Authenticate(const net::Request& request) = 0;
};

// Whose a token is, and which of the audiences that were asked about it is meant for.
struct TokenIdentity {
  User user;
  std::vector<std::string> audiences{};
};
using MaybeTokenIdentity = Result<std::optional<TokenIdentity>>;

// Knows one kind of bearer token. Thread-safe.
class TokenAuthenticator {
 public:
  virtual ~TokenAuthenticator() = default;
  // nullopt: a token of some other kind. An error: one of ours that is not valid. May wait for another
  // server; the caller resumes on `resume`. Requires that the arguments live until then, and at least one
  // audience.
  virtual Task<MaybeTokenIdentity> Authenticate(std::string_view token,
                                                const std::vector<std::string>& audiences,
                                                Executor& resume) = 0;
  // Whether its tokens name their audiences. Those that do not are meant for this server and nobody else.
  virtual bool knows_audiences() const { return false; }
};

// A token authenticator that decides at once, from memory.
class LocalTokenAuthenticator : public TokenAuthenticator {
 public:
  virtual MaybeTokenIdentity Check(std::string_view token, const std::vector<std::string>& audiences) = 0;
  Task<MaybeTokenIdentity> Authenticate(std::string_view token, const std::vector<std::string>& audiences,
                                        Executor& resume) final;
};

// Client certificates: user = common name, groups = organisations. A certificate that does not chain to the
// client CA is Unauthorized; one without a common name is nobody's.
std::unique_ptr<Authenticator> NewCertificateAuthenticator();
// The same, checked with each request against the authorities as they are then.
std::unique_ptr<Authenticator> NewCertificateAuthenticator(
    std::shared_ptr<const TrustedAuthorities> authorities, const Clock& clock);

// kube-apiserver's token file: records of `token,user,uid,"group1,group2"` as Go's encoding/csv reads them.
// Of a repeated token the last record counts; that is logged, and so is an empty token, which is left out.
// BadRequest if it is malformed.
Result<std::unique_ptr<TokenAuthenticator>> NewTokenFileAuthenticator(const std::string& path);
// The same from memory: for tokens the program makes itself.
std::unique_ptr<TokenAuthenticator> NewTokenAuthenticator(std::map<std::string, User> tokens);

// Who may come without credentials (upstream: AnonymousAuthConfig).
struct AnonymousAccess {
  bool enabled = true;
  std::vector<std::string> paths{};  // exactly these; empty: every path
};

// Asks each method in turn, then, if there is a bearer token, those that know tokens; the first that knows
// the user wins. Adds system:authenticated. A bad credential is refused, never treated as none: without any,
// it is the anonymous user (where allowed), else Unauthorized.
class AuthenticatorChain {
 public:
  struct Methods {
    std::vector<std::unique_ptr<Authenticator>> requests{};
    std::vector<std::unique_ptr<TokenAuthenticator>> tokens{};
    // In which proxies name users, in lower case: whole names, and how others begin.
    std::vector<std::string> header_names{}, header_prefixes{};
  };
  AuthenticatorChain(Methods methods, std::vector<std::string> api_audiences, AnonymousAccess anonymous);
  Task<Result<User>> Authenticate(const net::Request& request, Executor& resume) const;
  // For TokenReview: nullopt if no method knows the token. No audiences: this server's own.
  Task<MaybeTokenIdentity> AuthenticateToken(std::string_view token,
                                             const std::vector<std::string>& audiences,
                                             Executor& resume) const;

  // Whether a header (in lower case) says who the caller is. Such headers are meant for this server alone.
  bool IsIdentityHeader(std::string_view name) const;

 private:
  Result<User> Anonymous(const net::Request& request) const;

  const Methods methods_;
  const std::vector<std::string> api_audiences_;
  const AnonymousAccess anonymous_;
};

// Those of `audiences` that `accepted` has too.
std::vector<std::string> CommonAudiences(const std::vector<std::string>& audiences,
                                         const std::vector<std::string>& accepted);

}  // namespace flyball::server
