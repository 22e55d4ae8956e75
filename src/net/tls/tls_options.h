// What each side of a TLS connection is given: certificates, keys, trust.
#pragma once

#include <string>

namespace flyball::net {

struct ServerTls {
  std::string certificate_pem{};  // with its chain
  std::string private_key_pem{};
  std::string client_ca_pem{};  // empty: client certificates are not asked for
};

struct ClientTls {
  std::string ca_pem{};  // empty: the system's roots
  std::string certificate_pem{}, private_key_pem{};
  std::string server_name{};  // empty: the URL's host
  bool insecure_skip_verify = false;
};

}  // namespace flyball::net
