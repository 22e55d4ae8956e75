#include "cli/addons/ingress_flags.h"

#include <CLI/CLI.hpp>

namespace flyball::cli {

void AddIngressFlags(CLI::App& command, IngressFlags& flags) {
  command.add_option("--ingress-address", flags.address,
                     "IP address the ingress listens on; 0.0.0.0 is all; default: all, or with flyball up "
                     "that of --bind-address");
  command.add_option("--ingress-http-port", flags.http_port, "Its port for HTTP; 0 takes any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--ingress-https-port", flags.https_port, "Its port for HTTPS; 0 takes any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--ingress-published-address", flags.published_address,
                     "IP address or host name that status.loadBalancer of an Ingress says");
}

network::IngressOptions IngressOptionsOf(const IngressFlags& flags, const std::string& default_address) {
  return {.address = flags.address.empty() ? default_address : flags.address,
          .http_port = flags.http_port,
          .https_port = flags.https_port,
          .published_address = flags.published_address};
}

}  // namespace flyball::cli
