// RegistryHosts: where the images of a registry are fetched from, in the format of k3s' registries.yaml:
//
//   mirrors:
//     docker.io:                      # or "*": every registry that is not named
//       endpoint: ["http://mirror.example.com:5000"]
//   configs:
//     mirror.example.com:5000:        # a registry's or mirror's host
//       auth: {username: u, password: p}
//       tls: {ca_file: f, cert_file: f, key_file: f, insecure_skip_verify: false}
//
// Mirrors are asked first, then the registry itself. A registry on this machine's loopback speaks plain HTTP
// unless an endpoint says otherwise, every other one HTTPS.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "net/tls/tls_options.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

inline constexpr char kRegistriesFile[] = "/etc/flyball/registries.yaml";

struct RegistryEndpoint {
  std::string url;      // "https://registry-1.docker.io", what "/v2/" is appended to
  bool mirror = false;  // not the registry itself: what the pod has for the registry is not for it
  std::optional<RegistryCredentials> credentials{};  // of the configuration
};

// A value; immutable once made.
class RegistryHosts {
 public:
  RegistryHosts() = default;
  // BadRequest, naming what is wrong: words that it does not know are refused too.
  static Result<RegistryHosts> Parse(std::string_view yaml);
  // Those of a file; none if it does not exist.
  static Result<RegistryHosts> Load(const std::string& path);

  // In the order in which they are asked. `registry` as references have it ("docker.io", "localhost:5000").
  std::vector<RegistryEndpoint> EndpointsOf(const std::string& registry) const;
  // For connections with a host ("mirror.example.com:5000").
  net::ClientTls TlsOf(const std::string& authority) const;

 private:
  struct Config {
    std::optional<RegistryCredentials> credentials;
    net::ClientTls tls;
  };
  std::map<std::string, std::vector<std::string>> mirrors_;
  std::map<std::string, Config> configs_;
};

}  // namespace flyball::node
