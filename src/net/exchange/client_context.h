// What the connections of one client share.
#pragma once

#include <memory>
#include <string>

#include "net/exchange/client_options.h"
#include "net/http/origin.h"
#include "net/io/connector.h"
#include "net/tls/tls.h"

namespace flyball::net {

// Immutable.
struct ClientContext {
  ClientOptions options;
  Origin origin;
  std::shared_ptr<TlsContext> tls;        // null: plain text
  std::shared_ptr<TlsContext> tls_http1;  // offers HTTP/1.1 only: for WebSockets
  std::shared_ptr<Connector> connector;

  const std::string& server_name() const {
    return options.tls.server_name.empty() ? origin.host : options.tls.server_name;
  }
};

}  // namespace flyball::net
