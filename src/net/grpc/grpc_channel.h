// GrpcChannel: unary gRPC calls to one server
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
//
// One HTTP/2 connection is shared by all calls. It is opened by the first one and again when it has broken.
// Guarantees: a call ends by its deadline; a response is at most kMaxMessage long. Messages are not
// compressed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::net {

struct GrpcCallOptions {
  Duration timeout = std::chrono::seconds(10);
  // While the server cannot be reached the call is made again, until its time is over. For calls that may be
  // repeated: one whose connection broke midway is made again too.
  bool wait_for_ready = false;
};

// Thread-safe.
class GrpcChannel {
 public:
  // What grpc-go accepts by default.
  static constexpr std::size_t kMaxMessage = 4u << 20;

  // `url`: "unix:///run/plugin.sock", "unix:///@name" (Linux' abstract sockets), or what NewHttpClient takes.
  // BadRequest if it is none of these. Nothing is connected yet.
  static Result<std::unique_ptr<GrpcChannel>> Make(const std::string& url);

  explicit GrpcChannel(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}

  // Sends the encoded `message` to `method` ("/package.Service/Method") and blocks until the encoded answer
  // is there. Must not be called on an I/O thread. Errors read as grpc-go's: "rpc error: code = Unavailable
  // desc =
  // ...". Reason kConnection: the server could not be reached, or the connection broke; kTimeout: the
  // deadline has passed; else the server refused the call.
  Result<std::string> Call(const std::string& method, std::string_view message,
                           const GrpcCallOptions& options) const;

 private:
  Result<std::string> CallOnce(const std::string& method, std::string_view message, Duration timeout) const;

  const std::shared_ptr<Transport> transport_;
};

}  // namespace flyball::net
