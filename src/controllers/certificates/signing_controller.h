// The signers of certificate requests that are built in (upstream: csrsigning): an approved request of one of
// their names gets a certificate; one that does not fit the signer's rules gets the condition Failed, reason
// SignerValidationFailure.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "controller/manager.h"
#include "flyball/pki.h"

namespace flyball::controllers {

// Where a signer's key comes from: read before each signature, so a renewed authority is used at once.
// Thread-safe.
class SigningAuthority {
 public:
  virtual ~SigningAuthority() = default;
  virtual Result<net::KeyPair> Current() = 0;
};
std::shared_ptr<SigningAuthority> FixedAuthority(net::KeyPair pair);
// Files that are read again when they change. While they cannot be used (half written, say) the last pair
// goes on. BadRequest if they cannot be used now.
Result<std::shared_ptr<SigningAuthority>> AuthorityFiles(const std::string& certificate_file,
                                                         const std::string& key_file);

struct CertificateSigningOptions {
  // By signer name; a signer without one signs nothing.
  std::map<std::string, std::shared_ptr<SigningAuthority>> authorities{};
  // The longest a certificate lasts; a request may ask for less (--cluster-signing-duration).
  Duration duration = std::chrono::hours(24 * 365);
};

// When a certificate for that long begins and ends: five minutes back for clocks that differ, not beyond the
// authority's own end. An error if the authority has expired.
Result<net::CertificateTerms> TermsFor(Duration lifetime, TimePoint now, TimePoint authority_end);

// Does nothing without authorities.
Status AddCertificateSigner(Manager& manager, int workers, const CertificateSigningOptions& options);

}  // namespace flyball::controllers
