// GrpcChannel: gRPC calls to one server, unary ones and streams
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
//
// One HTTP/2 connection is shared by all calls. It is opened by the first one and again when it has broken; a
// server that has gone silent is noticed by a ping without an answer. Guarantees: a unary call ends by its
// deadline; a message that is received is at most as long as the options say. Messages are not compressed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "net/exchange/client_options.h"
#include "net/http/http.h"

namespace flyball::net {

struct GrpcCallOptions {
  Duration timeout = std::chrono::seconds(10);
  // While the server cannot be reached the call is made again, until its time is over. For calls that may be
  // repeated: one whose connection broke midway is made again too.
  bool wait_for_ready = false;
};

struct GrpcChannelOptions {
  // `url`: "unix:///run/plugin.sock", "unix:///@name" (Linux' abstract sockets), "https://host:port", or
  // "h2c://host:port" for plain text.
  ClientOptions client;
  Headers metadata{};  // sent with every call
  // What grpc-go accepts by default.
  std::size_t max_message = 4u << 20;
};

// The end of a unary call. Errors read as grpc-go's: "rpc error: code = Unavailable desc = ...". Reason
// kConnection: the server could not be reached, or the connection broke; kTimeout: the deadline has passed;
// else the server refused the call.
struct GrpcAnswer {
  Result<std::string> message;
  // False: the server certainly has not seen the call, so it may be made again elsewhere.
  bool sent = true;
};

// Receives a stream. Calls come one at a time on an I/O thread; they must not block.
class GrpcStreamSink {
 public:
  virtual ~GrpcStreamSink() = default;
  // The bytes are valid during the call.
  virtual void OnMessage(std::string_view message) = 0;
  // Nothing more follows. Errors as in GrpcAnswer; kCancelled after Cancel.
  virtual void OnEnd(const Status& status) = 0;
};

// A stream under way. Thread-safe. Destroying it cancels it.
class GrpcStream {
 public:
  virtual ~GrpcStream() = default;
  // Queues a message.
  virtual void Send(std::string_view message) = 0;
  // Nothing more will be sent.
  virtual void Finish() = 0;
};

// Thread-safe.
class GrpcChannel {
 public:
  // BadRequest if the URL is none of those above. Nothing is connected yet.
  static Result<std::unique_ptr<GrpcChannel>> Make(GrpcChannelOptions options);
  static Result<std::unique_ptr<GrpcChannel>> Make(const std::string& url);

  explicit GrpcChannel(std::shared_ptr<Transport> transport, GrpcChannelOptions options = {})
      : transport_(std::move(transport)), options_(std::move(options)) {}

  // Sends the encoded `message` to `method` ("/package.Service/Method") and blocks until the encoded answer
  // is there. Must not be called on an I/O thread.
  Result<std::string> Call(const std::string& method, std::string_view message,
                           const GrpcCallOptions& options) const;
  // The same without blocking and tried once. `done` is called once, on an I/O thread or a timer's: it must
  // not block.
  void Start(const std::string& method, std::string_view message, Duration timeout,
             UniqueFunction<void(GrpcAnswer)> done) const;
  // Opens a stream in which both sides send as many messages as they like. The sink is kept alive until its
  // end.
  std::unique_ptr<GrpcStream> Open(const std::string& method, std::shared_ptr<GrpcStreamSink> sink) const;

 private:
  Result<std::string> CallOnce(const std::string& method, std::string_view message, Duration timeout) const;
  Request RequestFor(const std::string& method) const;

  const std::shared_ptr<Transport> transport_;
  const GrpcChannelOptions options_;
};

}  // namespace flyball::net
