#include "server/auth/remote/jwt_authenticators.h"

#include "net/tls/pki.h"

namespace flyball::server {
namespace {

void RetireAll(const std::vector<std::shared_ptr<TokenIssuer>>& issuers) {
  for (const auto& issuer : issuers) issuer->Retire();
}

}  // namespace

// A new set of issuers on trial. The first outcome counts: all reached, one given up, out of time, overtaken.
class JwtAuthenticators::Candidate : public std::enable_shared_from_this<Candidate> {
 public:
  Candidate(std::shared_ptr<const Issuers> issuers, std::weak_ptr<State> state,
            UniqueFunction<void(Status)> done)
      : issuers_(std::move(issuers)), state_(std::move(state)), done_(std::move(done)) {}

  void Start(Executor& executor, Duration patience) {
    if (issuers_->empty()) return Finish({});
    {
      MutexLock lock(mu_);
      waiting_ = issuers_->size();
    }
    executor.PostAfter(patience, [weak = weak_from_this()] {
      if (const auto self = weak.lock())
        self->Finish(Unexpected(Error(Reason::kTimeout, "an issuer was not reached in time")));
    });
    for (const auto& issuer : *issuers_)
      issuer->Start([self = shared_from_this()](const Status& ready) { self->OnReady(ready); });
  }

  void Finish(const Status& outcome) {
    UniqueFunction<void(Status)> done;
    {
      MutexLock lock(mu_);
      done = std::exchange(done_, nullptr);
    }
    if (!done) return;
    const auto state = state_.lock();
    if (outcome && state) {
      std::shared_ptr<const Issuers> old;
      {
        MutexLock lock(state->mu);
        old = std::exchange(state->issuers, issuers_);
        if (state->candidate.get() == this) state->candidate = nullptr;
      }
      RetireAll(*old);
    } else {
      RetireAll(*issuers_);
    }
    done(outcome);
  }

 private:
  void OnReady(const Status& ready) {
    if (!ready) return Finish(ready);
    {
      MutexLock lock(mu_);
      if (--waiting_ > 0) return;
    }
    Finish({});
  }

  const std::shared_ptr<const Issuers> issuers_;
  const std::weak_ptr<State> state_;
  Mutex mu_;
  std::size_t waiting_ FLYBALL_GUARDED_BY(mu_) = 0;
  UniqueFunction<void(Status)> done_ FLYBALL_GUARDED_BY(mu_);
};

JwtAuthenticators::~JwtAuthenticators() {
  RetireAll(*Current());
}

std::shared_ptr<const JwtAuthenticators::Issuers> JwtAuthenticators::Current() const {
  MutexLock lock(state_->mu);
  return state_->issuers;
}

std::shared_ptr<const JwtAuthenticators::Issuers> JwtAuthenticators::MakeIssuers(
    const std::vector<JwtIssuerConfig>& configs) const {
  auto issuers = std::make_shared<Issuers>();
  for (const auto& config : configs)
    issuers->push_back(std::make_shared<TokenIssuer>(config, algorithms_, context_));
  return issuers;
}

void JwtAuthenticators::Set(const std::vector<JwtIssuerConfig>& issuers) {
  auto fresh = MakeIssuers(issuers);
  for (const auto& issuer : *fresh) issuer->Start([](const Status&) {});
  MutexLock lock(state_->mu);
  state_->issuers = std::move(fresh);
}

void JwtAuthenticators::Replace(const std::vector<JwtIssuerConfig>& issuers, Duration patience,
                                UniqueFunction<void(Status)> done) {
  auto candidate = std::make_shared<Candidate>(MakeIssuers(issuers), state_, std::move(done));
  std::shared_ptr<Candidate> overtaken;
  {
    MutexLock lock(state_->mu);
    overtaken = std::exchange(state_->candidate, candidate);
  }
  if (overtaken) overtaken->Finish(Unexpected(Error(Reason::kCancelled, "the configuration changed again")));
  candidate->Start(context_.executor, patience);
}

Task<MaybeTokenIdentity> JwtAuthenticators::Authenticate(std::string_view token,
                                                         const std::vector<std::string>&, Executor& resume) {
  const std::string claimed = UntrustedIssuer(token);
  if (claimed.empty()) co_return std::optional<TokenIdentity>();
  const auto issuers = Current();
  for (const auto& issuer : *issuers) {
    if (issuer->url() != claimed) continue;
    const SteadyTime began = context_.executor.clock().Steady();
    auto user = co_await issuer->Authenticate(token, resume);
    Observe(claimed, user.has_value(), context_.executor.clock().Steady() - began);
    if (!user) co_return Unexpected(user.error());
    co_return std::optional(TokenIdentity{std::move(*user)});
  }
  co_return std::optional<TokenIdentity>();
}

void JwtAuthenticators::Observe(const std::string& issuer, bool success, Duration took) const {
  context_.metrics
      .GetHistogram("apiserver_authentication_jwt_authenticator_latency_seconds",
                    "Latency of jwt authentication operations in seconds. This is the time spent "
                    "authenticating a token for cache miss only (i.e. when the token is not found in the "
                    "cache).",
                    {.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
                    {{"result", success ? "success" : "failure"},
                     {"jwt_issuer_hash", "sha256:" + net::HexEncode(net::Sha256(issuer))}})
      .Observe(std::chrono::duration<double>(took).count());
}

}  // namespace flyball::server
