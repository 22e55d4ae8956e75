// WebhookTarget: where a webhook is, as a clientConfig says (upstream: webhook.ClientConfig).
#pragma once

#include <optional>
#include <string>

#include "json/value.h"

namespace flyball::server {

// A value.
struct WebhookTarget {
  struct Service {
    std::string namespace_name, name, path;
    int port = 443;
    // "name.namespace.svc": what its certificate must be for.
    std::string ServerName() const { return name + "." + namespace_name + ".svc"; }
  };
  std::string url;                 // empty if it is a service
  std::optional<Service> service;  // none if it is a URL
  std::string ca_pem;              // empty: the system's roots

  // Of a clientConfig that passed validation.
  static WebhookTarget FromClientConfig(const json::Value& client_config);
  // The URL that requests go to, as errors show it; without a query.
  std::string ShownUrl() const;
};

}  // namespace flyball::server
