// The two formats that every gRPC call shares: messages with their prefix, and the status in the trailers
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::net {

enum class GrpcCode : int {
  kOk = 0,
  kUnknown = 2,
  kDeadlineExceeded = 4,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

// Reads as grpc-go's: "rpc error: code = Unavailable desc = ...". Codes beyond the known ones are shown as
// numbers.
Error GrpcError(GrpcCode code, std::string_view description, Reason reason);
// With the reason that fits: kConnection for Unavailable, else kInternalError.
Error GrpcError(GrpcCode code, std::string_view description);
// The code of such an error; kUnknown of another.
GrpcCode GrpcCodeOf(const Error& error);
// The description of such an error; the whole message of another.
std::string_view GrpcDescription(const Error& error);

// The message behind its five bytes of prefix. Messages are not compressed.
std::string FramedMessage(std::string_view message);

// Cuts what arrives into messages. Thread-compatible.
class GrpcFrameReader {
 public:
  // Messages longer than `max_message` are an error.
  explicit GrpcFrameReader(std::size_t max_message) : max_message_(max_message) {}

  void Add(std::string_view data) { bytes_ += data; }
  // The next whole message, valid until the next call of either method; nullopt if it is not there yet.
  Result<std::optional<std::string_view>> Next();
  // Whether a message has begun that is not whole.
  bool inside_message() const { return taken_ < bytes_.size(); }

 private:
  const std::size_t max_message_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of them
};

// The end of a call as the headers tell it. Thread-compatible.
class GrpcStatusReader {
 public:
  void OnHead(int status, const Headers& headers);
  void OnTrailers(const Headers& trailers);
  // What the call has come to, when there is nothing more to read.
  Status Outcome() const;

 private:
  int http_status_ = 0;
  std::string content_type_, message_;
  std::optional<int> code_;
};

}  // namespace flyball::net
