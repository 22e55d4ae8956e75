// JwtAuthenticators: bearer tokens of the issuers in the authentication configuration, which may change while
// the server runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "server/auth/authentication.h"
#include "server/auth/config/authentication_config.h"
#include "server/auth/remote/token_issuer.h"

namespace flyball::server {

// Thread-safe.
class JwtAuthenticators final : public TokenAuthenticator {
 public:
  JwtAuthenticators(std::vector<std::string> signing_algorithms, IssuerContext context)
      : algorithms_(std::move(signing_algorithms)), context_(context) {}
  ~JwtAuthenticators() override;

  // At once, before the issuers have been reached. Requires a valid configuration, as does Replace.
  void Set(const std::vector<JwtIssuerConfig>& issuers);
  // Once every new issuer has been reached; the old ones serve until then. `done` says whether that came to
  // be: not if it takes longer than `patience`, or another Replace overtakes it.
  void Replace(const std::vector<JwtIssuerConfig>& issuers, Duration patience,
               UniqueFunction<void(Status)> done);

  Task<MaybeTokenIdentity> Authenticate(std::string_view token, const std::vector<std::string>& audiences,
                                        Executor& resume) override;

 private:
  using Issuers = std::vector<std::shared_ptr<TokenIssuer>>;
  class Candidate;

  std::shared_ptr<const Issuers> MakeIssuers(const std::vector<JwtIssuerConfig>& configs) const;
  std::shared_ptr<const Issuers> Current() const;
  void Observe(const std::string& issuer, bool success, Duration took) const;

  const std::vector<std::string> algorithms_;
  const IssuerContext context_;
  // Shared with candidates, which may outlive this.
  struct State {
    Mutex mu;
    std::shared_ptr<const Issuers> issuers FLYBALL_GUARDED_BY(mu) = std::make_shared<Issuers>();
    std::shared_ptr<Candidate> candidate FLYBALL_GUARDED_BY(mu);
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace flyball::server
