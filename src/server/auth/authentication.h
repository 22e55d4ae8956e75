// Authentication: who sent this request. Several methods are asked in turn; each says who it is, that it has
// no opinion, or that the credentials it understands are bad.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "net/http/http.h"
#include "server/request/user.h"

namespace flyball::server {

// Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // nullopt: the request carries nothing for this method. Unauthorized: it does, and it is not valid.
  virtual Result<std::optional<User>> Authenticate(const net::Request& request) = 0;
  // The same for a bare token, for TokenReview. Methods that know no tokens have no opinion.
  virtual Result<std::optional<User>> AuthenticateToken(std::string_view token,
                                                        const std::vector<std::string>& audiences);
};

// Client certificates: user = common name, groups = organisations. A certificate that does not chain to the
// client CA is Unauthorized.
std::unique_ptr<Authenticator> NewCertificateAuthenticator();

// kube-apiserver's token file: lines of `token,user,uid,"group1,group2"`. BadRequest naming the line if it is
// malformed.
Result<std::unique_ptr<Authenticator>> NewTokenFileAuthenticator(const std::string& path);
// The same from memory: for tokens the program makes itself.
std::unique_ptr<Authenticator> NewTokenAuthenticator(std::map<std::string, User> tokens);

// Asks each in turn; the first that knows the user wins. Adds system:authenticated. If none does: the first
// error, else the anonymous user (when allowed), else Unauthorized.
class AuthenticatorChain {
 public:
  AuthenticatorChain(std::vector<std::unique_ptr<Authenticator>> methods, bool allow_anonymous)
      : methods_(std::move(methods)), allow_anonymous_(allow_anonymous) {}
  Result<User> Authenticate(const net::Request& request) const;
  // For TokenReview: nullopt if no method knows the token.
  Result<std::optional<User>> AuthenticateToken(std::string_view token,
                                                const std::vector<std::string>& audiences) const;

 private:
  std::vector<std::unique_ptr<Authenticator>> methods_;
  const bool allow_anonymous_;
};

// The bearer token of a request (Authorization header, or the WebSocket subprotocol browsers use); "" if
// none.
std::string BearerToken(const net::Request& request);

}  // namespace flyball::server
