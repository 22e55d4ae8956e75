// TrailerSink: a ResponseSink that also wants to know when its request leaves, and the trailers of an HTTP/2
// response, where gRPC has its status.
#pragma once

#include "net/http/http.h"

namespace flyball::net {

class TrailerSink : public ResponseSink {
 public:
  // A connection has taken the request: from now on the server may act on it.
  virtual void OnSubmitted() {}
  // Once, after the data and before OnEnd; not at all if the response has none.
  virtual void OnTrailers(const Headers& trailers) = 0;
};

}  // namespace flyball::net
