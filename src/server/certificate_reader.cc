#include "server/certificate_reader.h"

#include "api/rules/certificate_reader.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

std::int64_t SecondsOf(TimePoint moment) {
  return std::chrono::duration_cast<std::chrono::seconds>(moment.time_since_epoch()).count();
}

api::CertificateRequestFacts::Key KeyOf(std::string_view type) {
  using Key = api::CertificateRequestFacts::Key;
  if (type == "ED25519") return Key::kEd25519;
  if (type == "EC") return Key::kEcdsa;
  return type == "RSA" ? Key::kRsa : Key::kOther;
}

class PkiReader final : public api::CertificateReader {
 public:
  std::optional<api::CertificateFacts> Certificate(std::string_view der) const override {
    auto details = net::DescribeCertificate(der);
    if (!details) return std::nullopt;
    return api::CertificateFacts{details->is_ca, std::move(details->public_key),
                                 SecondsOf(details->not_before), SecondsOf(details->not_after),
                                 std::move(details->dns_names)};
  }

  std::optional<api::CertificateRequestFacts> Request(std::string_view der) const override {
    auto details = net::DescribeCertificateRequest(der);
    if (!details) return std::nullopt;
    return api::CertificateRequestFacts{KeyOf(details->key_type), std::move(details->curve), details->bits,
                                        std::move(details->public_key), details->signature_valid};
  }
};

}  // namespace

void InstallCertificateReader() {
  static const PkiReader reader;
  api::SetCertificateReader(&reader);
}

}  // namespace flyball::server
