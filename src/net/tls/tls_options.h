// What each side of a TLS connection is given: certificates, keys, trust.
#pragma once

#include <string>
#include <vector>

namespace flyball::net {

// A certificate for some of a server's names.
struct NamedCertificate {
  std::vector<std::string> names{};  // "web.example", "*.example"; lower case
  std::string certificate_pem{}, private_key_pem{};
  bool operator==(const NamedCertificate&) const = default;
};

struct ServerTls {
  std::string certificate_pem{};  // with its chain
  std::string private_key_pem{};
  std::string client_ca_pem{};  // empty: client certificates are not asked for
  // For clients that name one of these (SNI); others see the certificate above. Of two with one name the
  // first counts.
  std::vector<NamedCertificate> by_name{};
};

struct ClientTls {
  std::string ca_pem{};  // empty: the system's roots
  std::string certificate_pem{}, private_key_pem{};
  std::string server_name{};  // empty: the URL's host
  bool insecure_skip_verify = false;
};

}  // namespace flyball::net
