// GrpcServer: unary gRPC calls on a Unix socket
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/run/executor.h"
#include "base/values/result.h"

namespace flyball::net {

class HttpServer;

// Thread-safe.
class GrpcServer {
 public:
  // Gets the encoded request and answers the encoded response, or an error: one of GrpcError as it is, any
  // other with the code Unknown, as grpc-go has it. May block.
  using Method = std::function<Result<std::string>(std::string_view request)>;

  // Listens on the socket when it returns; what was there under its name is removed. `methods` are known by
  // "/package.Service/Method" and run on the executor, which must outlive the server.
  static Result<std::unique_ptr<GrpcServer>> Start(const std::string& socket,
                                                   std::map<std::string, Method> methods, Executor& executor);
  ~GrpcServer();

 private:
  explicit GrpcServer(std::unique_ptr<HttpServer> server);
  const std::unique_ptr<HttpServer> server_;
};

}  // namespace flyball::net
