// A new key and the proof that somebody has it, for signers that decide by themselves what a certificate
// says (PodCertificateRequest).
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::net {

struct StubRequest {
  std::string private_key_pem;  // PKCS#8
  std::string request_der;      // PKCS#10, without a subject
};

// `key_type` as PodCertificateRequests name it: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.
// BadRequest for others. An RSA key takes a good part of a second. Thread-safe.
Result<StubRequest> MakeStubRequest(std::string_view key_type);

}  // namespace flyball::net
