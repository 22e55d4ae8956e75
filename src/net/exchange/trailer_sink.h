// TrailerSink: a ResponseSink that also wants the trailers of an HTTP/2 response, where gRPC has its status.
#pragma once

#include "net/http/http.h"

namespace flyball::net {

class TrailerSink : public ResponseSink {
 public:
  // Once, after the data and before OnEnd; not at all if the response has none.
  virtual void OnTrailers(const Headers& trailers) = 0;
};

}  // namespace flyball::net
