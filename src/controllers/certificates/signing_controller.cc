#include "controllers/certificates/signing_controller.h"

#include <algorithm>
#include <optional>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "controller/objects/condition.h"
#include "controllers/certificates/certificate_request.h"

namespace flyball::controllers {
namespace {

constexpr Duration kBackdate = std::chrono::minutes(5);
// A certificate that lasts less than this is not shortened because it starts earlier.
constexpr Duration kShort = std::chrono::hours(8);
constexpr Duration kShortest = std::chrono::minutes(10);

class FixedPair final : public SigningAuthority {
 public:
  explicit FixedPair(net::KeyPair pair) : pair_(std::move(pair)) {}
  Result<net::KeyPair> Current() override { return pair_; }

 private:
  const net::KeyPair pair_;
};

class PairFiles final : public SigningAuthority {
 public:
  PairFiles(std::string certificate_file, std::string key_file)
      : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}

  Result<net::KeyPair> Current() override {
    auto read = Read();
    MutexLock lock(mu_);
    if (read) {
      last_ = std::move(*read);
    } else if (last_) {
      log::Warning("signing with the authority read before", {{"error", read.error().message()}});
    } else {
      return Unexpected(read.error());
    }
    return *last_;
  }

 private:
  Result<net::KeyPair> Read() const {
    net::KeyPair pair;
    FLYBALL_ASSIGN(pair.certificate_pem, ReadFile(certificate_file_));
    FLYBALL_ASSIGN(pair.private_key_pem, ReadFile(key_file_));
    if (!net::IsKeyOf(pair.private_key_pem, pair.certificate_pem))
      return Unexpected(BadRequest("error reading CA cert file \"" + certificate_file_ + "\": the key in \"" +
                                   key_file_ + "\" is not its key"));
    return pair;
  }

  const std::string certificate_file_, key_file_;
  Mutex mu_;
  std::optional<net::KeyPair> last_ FLYBALL_GUARDED_BY(mu_);
};

Duration LifetimeOf(const CertificateSigningRequest& csr, Duration longest) {
  if (!csr.spec.expiration_seconds) return longest;
  const Duration asked = std::chrono::seconds(*csr.spec.expiration_seconds);
  if (asked > longest) return longest;
  return std::max(asked, kShortest);
}

Result<std::string> Sign(const CertificateSigningRequest& csr, SigningAuthority& authority, Duration longest,
                         TimePoint now) {
  FLYBALL_ASSIGN(const net::KeyPair pair, authority.Current());
  FLYBALL_ASSIGN(const net::CertificateInfo own, net::ParseCertificate(pair.certificate_pem));
  FLYBALL_ASSIGN(net::CertificateTerms terms, TermsFor(LifetimeOf(csr, longest), now, own.not_after));
  FLYBALL_ASSIGN(CertificateUsages usages, ParseUsages(csr.spec.usages));
  terms.key_usages = std::move(usages.key_usages);
  terms.extended_key_usages = std::move(usages.extended_key_usages);
  return net::SignCertificateRequest(pair, csr.spec.request, terms);
}

Result<Action> SignRequest(const CertificateSigningRequest& csr, Context& ctx,
                           const CertificateSigningOptions& options) {
  if (!csr.status.certificate.empty() || !IsApproved(csr) || HasTrueCondition(csr, "Failed")) return Done();
  const auto authority = options.authorities.find(csr.spec.signer_name);
  if (authority == options.authorities.end()) return Done();
  FLYBALL_ASSIGN(const auto request, net::ParseCertificateRequest(csr.spec.request));
  CertificateSigningRequest updated = csr;
  if (const std::string problem = SignerProblem(csr.spec.signer_name, request, csr.spec.usages);
      !problem.empty()) {
    CertificateSigningRequestCondition failed = MakeCondition<CertificateSigningRequestCondition>(
        "Failed", "True", "SignerValidationFailure", problem, ctx.Now());
    updated.status.conditions.push_back(std::move(failed));
  } else {
    FLYBALL_ASSIGN(updated.status.certificate, Sign(csr, *authority->second, options.duration, ctx.Now()));
  }
  if (const auto written = ctx.client().UpdateStatus(updated); !written) return Unexpected(written.error());
  return Done();
}

}  // namespace

std::shared_ptr<SigningAuthority> FixedAuthority(net::KeyPair pair) {
  return std::make_shared<FixedPair>(std::move(pair));
}

Result<std::shared_ptr<SigningAuthority>> AuthorityFiles(const std::string& certificate_file,
                                                         const std::string& key_file) {
  auto files = std::make_shared<PairFiles>(certificate_file, key_file);
  if (const auto first = files->Current(); !first) return Unexpected(first.error());
  return std::shared_ptr<SigningAuthority>(std::move(files));
}

Result<net::CertificateTerms> TermsFor(Duration lifetime, TimePoint now, TimePoint authority_end) {
  if (now >= authority_end)
    return Unexpected(InternalError("refusing to sign a certificate: the signer has expired"));
  net::CertificateTerms terms;
  terms.not_before = now - kBackdate;
  terms.not_after =
      std::min(now + lifetime - (lifetime < kShort ? Duration::zero() : kBackdate), authority_end);
  return terms;
}

Status AddCertificateSigner(Manager& manager, int workers, const CertificateSigningOptions& options) {
  if (options.authorities.empty()) return {};
  return manager.For<CertificateSigningRequest>()
      .Named("certificatesigningrequest-signing-controller")
      .Workers(workers)
      .Reconcile([options](const CertificateSigningRequest& csr, Context& ctx) {
        return SignRequest(csr, ctx, options);
      });
}

}  // namespace flyball::controllers
