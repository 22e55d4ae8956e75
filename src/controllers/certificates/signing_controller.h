// The built-in signers of certificate requests (upstream: csrsigning). They issue a certificate for an
// approved request with one of their signer names. A request that violates the signer's rules gets the
// condition Failed, reason SignerValidationFailure.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "controller/manager.h"
#include "flyball/pki.h"

namespace flyball::controllers {

// The source of a signer's key. It is read before each signature, so a renewed authority is used at once.
// Thread-safe.
class SigningAuthority {
 public:
  virtual ~SigningAuthority() = default;
  virtual Result<net::KeyPair> Current() = 0;
};
std::shared_ptr<SigningAuthority> FixedAuthority(net::KeyPair pair);
// Files that are read again when they change. While they are unusable (half written, for example), the last
// pair stays in use. BadRequest if they are unusable now.
Result<std::shared_ptr<SigningAuthority>> AuthorityFiles(const std::string& certificate_file,
                                                         const std::string& key_file);

struct CertificateSigningOptions {
  // By signer name; a signer without one signs nothing.
  std::map<std::string, std::shared_ptr<SigningAuthority>> authorities{};
  // The longest validity of a certificate; a request may ask for less (--cluster-signing-duration).
  Duration duration = std::chrono::hours(24 * 365);
};

// Returns the validity of a certificate of that duration: it starts five minutes in the past, because clocks
// differ, and does not exceed the authority's own end. Returns an error if the authority has expired.
Result<net::CertificateTerms> TermsFor(Duration lifetime, TimePoint now, TimePoint authority_end);

// Does nothing without authorities.
Status AddCertificateSigner(Manager& manager, int workers, const CertificateSigningOptions& options);

}  // namespace flyball::controllers
