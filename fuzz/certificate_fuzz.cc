// Certificates and signing requests, whose subjects name users and groups: any DER, as PEM, is read or
// refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/tls/pki.h"

namespace {

std::string Pem(std::string_view label, std::string_view der) {
  std::string out = "-----BEGIN " + std::string(label) + "-----\n";
  const std::string text = flyball::net::Base64Encode(der);
  for (std::size_t at = 0; at < text.size(); at += 64) out += text.substr(at, 64) + "\n";
  return out + "-----END " + std::string(label) + "-----\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flyball::net;  // NOLINT(google-build-using-namespace)
  const std::string_view der(reinterpret_cast<const char*>(data), size);
  const std::string certificate = Pem("CERTIFICATE", der);
  (void)ParseCertificate(certificate);
  (void)IsSignedByAny(certificate, certificate);
  (void)RequestedOrganizations(Pem("CERTIFICATE REQUEST", der));
  (void)DescribePublicKey(Pem("PUBLIC KEY", der));
  (void)ParseCertificate(der);
  return 0;
}
