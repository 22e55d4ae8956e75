// The frames of RFC 6455: encoding, and taking a byte stream apart into messages. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/values/unique_function.h"

namespace flyball::net {

enum class WebSocketOpcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

// Close codes of RFC 6455, 7.4.1.
inline constexpr int kWsNormal = 1000;
inline constexpr int kWsGoingAway = 1001;
inline constexpr int kWsProtocolError = 1002;
inline constexpr int kWsTooBig = 1009;
inline constexpr int kWsInternalError = 1011;

// One unfragmented frame. Clients mask with the key, servers pass 0 and do not.
std::string EncodeWebSocketFrame(WebSocketOpcode opcode, std::string_view payload, bool mask,
                                 std::uint32_t key);
std::string EncodeClosePayload(int code, std::string_view reason);
// The Sec-WebSocket-Accept that answers a Sec-WebSocket-Key.
std::string WebSocketAccept(std::string_view key);

// Confined. Feed it bytes as they come; it calls back with whole messages and control frames, in order.
class WebSocketReader {
 public:
  struct Limits {
    bool masked;  // what the other side must send: clients mask, servers do not
    std::size_t max_message;
  };
  // Data messages come as kText or kBinary, reassembled; control frames as they are.
  using OnFrame = UniqueFunction<void(WebSocketOpcode, std::string)>;

  WebSocketReader(Limits limits, OnFrame on_frame) : limits_(limits), on_frame_(std::move(on_frame)) {}

  // 0, or the close code that says what is wrong with the stream: nothing more may be fed then.
  int Feed(std::string_view data);

 private:
  struct Head {
    bool final = false;
    WebSocketOpcode opcode{};
    std::uint64_t size = 0;
    unsigned char key[4] = {};
    std::size_t bytes = 0;  // of the head itself
  };
  // False: more bytes are needed.
  bool ParseHead(std::string_view data, Head& head, int& error) const;
  int Check(const Head& head) const;
  int Take(const Head& head, std::string payload);

  const Limits limits_;
  OnFrame on_frame_;
  std::string buffer_;
  std::string message_;                                              // fragments so far
  WebSocketOpcode message_opcode_ = WebSocketOpcode::kContinuation;  // which means: none
};

}  // namespace flyball::net
