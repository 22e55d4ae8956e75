// CertificateReader: what validation must know of X.509 certificates and PKCS#10 requests. This module does
// no cryptography: the server gives it a reader at start (server/certificate_reader). Without one, such
// values are not looked into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flyball::api {

struct CertificateFacts {
  bool is_ca = false;
  std::string public_key;                      // DER
  std::int64_t not_before = 0, not_after = 0;  // seconds since 1970
  std::vector<std::string> dns_names;
};

struct CertificateRequestFacts {
  enum class Key { kEd25519, kEcdsa, kRsa, kOther } key = Key::kOther;
  std::string curve;       // kEcdsa: as Go names it, "P-256"
  int bits = 0;            // kRsa
  std::string public_key;  // DER
  bool signature_valid = false;
};

// Thread-safe. Nothing if the bytes (DER) are no such thing.
class CertificateReader {
 public:
  virtual ~CertificateReader() = default;
  virtual std::optional<CertificateFacts> Certificate(std::string_view der) const = 0;
  virtual std::optional<CertificateRequestFacts> Request(std::string_view der) const = 0;
};

// Sets the process's reader, which lives for ever. Before anything is served.
void SetCertificateReader(const CertificateReader* reader);
const CertificateReader* GetCertificateReader();  // null: none

// A block of PEM text. `der` is what it holds.
struct PemBlock {
  std::string type;
  bool headers = false;
  std::string der;
};
// Every well-formed block, in order; other text is skipped (Go: pem.Decode).
std::vector<PemBlock> ReadPem(std::string_view text);

}  // namespace flyball::api
