// AllowingWebhook: an admission webhook that allows everything at once, to measure what asking costs.
#pragma once

#include <memory>
#include <string>

#include "net/server/http_server.h"

namespace flyball::bench {

// Serves HTTPS on a free port until it is destroyed. Thread-safe.
class AllowingWebhook {
 public:
  AllowingWebhook();

  // A ValidatingWebhookConfiguration that has it asked about ConfigMaps of that namespace.
  std::string Configuration(const std::string& name, const std::string& namespace_name) const;

 private:
  std::string ca_pem_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace flyball::bench
