// A transport that receives compressed responses. It is in gzip.cc, with all else that knows the format.
#pragma once

#include <memory>

#include "net/http/http.h"

namespace flyball::net {

// Sends requests through `transport` that accept gzip, and unpacks what is packed: nobody behind it sees the
// difference, but that Content-Encoding and Content-Length are gone. Thread-safe.
std::shared_ptr<Transport> NewUnpackingTransport(std::shared_ptr<Transport> transport);

}  // namespace flyball::net
