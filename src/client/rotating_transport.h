// A transport whose certificates change while it runs.
#pragma once

#include <memory>

#include "base/values/result.h"
#include "client/config.h"
#include "net/client/http_client.h"

namespace flyball {

// An HTTP client of `options`; when `source` (may be null) has new certificates, requests from then on go
// over new connections. Calls under way finish on the old ones, which are closed at the change after that: a
// watch so old is cut, and begun again by whoever reads it.
Result<std::shared_ptr<net::Transport>> NewRotatingTransport(const net::ClientOptions& options,
                                                             std::shared_ptr<TlsSource> source);

}  // namespace flyball
