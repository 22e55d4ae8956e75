// The flags that say where the ingress listens.
#pragma once

#include <string>

#include "network/ingress/cluster_ingress.h"

namespace CLI {
class App;
}

namespace flyball::cli {

struct IngressFlags {
  std::string address;  // empty: what the caller says
  int http_port = 80, https_port = 443;
  std::string published_address;
};
void AddIngressFlags(CLI::App& command, IngressFlags& flags);
network::IngressOptions IngressOptionsOf(const IngressFlags& flags, const std::string& default_address);

}  // namespace flyball::cli
