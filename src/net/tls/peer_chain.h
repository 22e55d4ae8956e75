// What PeerCertificates holds. Private to this module.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/run/mutex.h"
#include "net/tls/authorities.h"
#include "net/tls/openssl.h"

namespace flyball::net {

inline void FreeCertificates(STACK_OF(X509) * certificates) {
  sk_X509_pop_free(certificates, X509_free);
}

struct PeerCertificates::Chain {
  // By whom the chain was last found good, and between which times that holds.
  struct Checked {
    std::uint64_t authorities;
    TimePoint from, until;
  };

  X509Ptr leaf;
  std::unique_ptr<STACK_OF(X509), OpenSslFree<FreeCertificates>> others{sk_X509_new_null()};
  Mutex mu;
  std::optional<Checked> checked FLYBALL_GUARDED_BY(mu);
};

}  // namespace flyball::net
