// Certificates that clients present, and the authorities they are checked against, at any time after the
// handshake: authorities are replaced while connections live (upstream: dynamic certificates).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::net {

// What a client sent in the handshake: its certificate and those that lead to its authority. That it has the
// private key is proven; who vouches for it is not. Immutable but for what the last check found; thread-safe.
class PeerCertificates {
 public:
  // The leaf is the first certificate of the text. BadRequest if there is none.
  static Result<std::shared_ptr<const PeerCertificates>> Parse(std::string_view pem);
  ~PeerCertificates();

  // Of the subject: the last common name, and all organizations.
  const std::string& common_name() const { return common_name_; }
  const std::vector<std::string>& organizations() const { return organizations_; }

 private:
  friend class CertificateAuthorities;
  friend class TlsStream;
  struct Chain;
  explicit PeerCertificates(std::unique_ptr<Chain> chain);

  std::unique_ptr<Chain> chain_;
  std::string common_name_;
  std::vector<std::string> organizations_;
};

// A set of trusted authorities. Immutable, thread-safe.
class CertificateAuthorities {
 public:
  // All certificates of the text. BadRequest if there is none.
  static Result<std::shared_ptr<const CertificateAuthorities>> Parse(std::string_view pem);
  ~CertificateAuthorities();

  // Unauthorized with OpenSSL's reason unless the certificate leads to one of these, may be used by clients,
  // and every certificate on the way is valid at `now`. What was found is remembered in `peer`: checking the
  // same one again costs next to nothing.
  Status VerifyClient(const PeerCertificates& peer, TimePoint now) const;

 private:
  struct Store;
  explicit CertificateAuthorities(std::unique_ptr<Store> store);
  std::unique_ptr<Store> store_;
  const std::uint64_t id_;  // of this set, never used again
};

// Whether a certificate is in both PEM texts.
bool ShareCertificate(std::string_view a_pem, std::string_view b_pem);
// The certificates of the texts, each once, in order, without those that expired before `now`.
std::string CombineCertificates(const std::vector<std::string>& pems, TimePoint now);

}  // namespace flyball::net
