// Answer: a complete response, before it is sent.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/task.h"
#include "base/values/error.h"
#include "net/http/http.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// A body that is made while it is sent, so that a large one is never in memory as a whole. Confined to the
// request's coroutine.
class BodySource {
 public:
  virtual ~BodySource() = default;
  // Appends about `size` bytes more; false: that was the end.
  virtual bool Next(std::size_t size, std::string& out) = 0;
};

struct Answer {
  int code = 200;
  std::string content_type = "application/json";
  std::string body;
  net::Headers headers = {};
  std::shared_ptr<BodySource> source = nullptr;  // if set, instead of `body`
  bool encoded = false;                          // the body is in the language the client asked for
};

// A Status body; adds Retry-After where the error says so. `unlisted_reason` is its reason if the error has
// none: webhooks refuse requests for reasons of their own.
Answer ErrorAnswer(const Error& error, const std::string& unlisted_reason = {});
Answer TextAnswer(int code, std::string text);
// What every answer says of its request: its audit id, and where flow control put it.
void AddScopeHeaders(const RequestScope& scope, net::Headers& headers);
// Adds a Warning header a text (`299 - "..."`), duplicates once, and sends. Requires: no `source`.
void SendAnswer(net::ResponseStream& stream, Answer answer, const std::vector<std::string>& warnings);
// The same for an answer with a `source`; ends when all is queued, or the request's life is over: then the
// answer has no end, which tells the client.
Task<void> StreamAnswer(net::ResponseStream& stream, Answer answer, const RequestScope& scope);

// How much a stream may have unsent before the coroutine that fills it waits, and until when it waits.
inline constexpr std::size_t kHighWater = 1u << 20;
inline constexpr std::size_t kLowWater = 256u << 10;
inline bool IsFull(const net::ResponseStream& stream) {
  return stream.pending_bytes() > kHighWater;
}
// Waits until most has been sent, or the peer is gone; resumes on the executor.
Task<void> Drain(net::ResponseStream& stream, Executor& executor);

}  // namespace flyball::server
