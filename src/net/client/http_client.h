// HttpClient: a Transport to one origin. HTTP/2 when the server speaks it (one connection shared by many
// streams, another when its streams are all in use), else pooled HTTP/1.1 connections.
#pragma once

#include <memory>

#include "base/values/result.h"
#include "net/exchange/client_options.h"
#include "net/http/http.h"

namespace flyball::net {

// Requests sent while nothing answers fail with kConnection; the next one connects anew. Broken connections
// fail what is under way on them. A request that certainly was not processed (GOAWAY, refused stream, stale
// kept-alive connection) is sent again by itself.
Result<std::unique_ptr<Transport>> NewHttpClient(const ClientOptions& options);

}  // namespace flyball::net
