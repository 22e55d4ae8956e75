// The frames of SPDY/3.1, as far as Kubernetes' streaming subresources speak it: encoding, compressed header
// blocks, and taking a byte stream apart. No I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::net {

enum class SpdyType : std::uint16_t {
  kSynStream = 1,
  kSynReply = 2,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kHeaders = 8,
  kWindowUpdate = 9,
};

inline constexpr std::uint8_t kSpdyFin = 1;

// Status codes of RST_STREAM.
inline constexpr std::uint32_t kSpdyProtocolError = 1;
inline constexpr std::uint32_t kSpdyInvalidStream = 2;
inline constexpr std::uint32_t kSpdyRefusedStream = 3;
inline constexpr std::uint32_t kSpdyCancel = 5;

// What a receiver may send without an update of its window.
inline constexpr std::uint32_t kSpdyInitialWindow = 64u << 10;

std::string EncodeSpdyControl(SpdyType type, std::uint8_t flags, std::string_view payload);
std::string EncodeSpdyData(std::uint32_t stream_id, bool fin, std::string_view data);
// A frame of that type with a stream id (or a ping's or last stream's) and one number.
std::string EncodeSpdyPair(SpdyType type, std::uint32_t id, std::uint32_t number);
std::string EncodeSpdyPing(std::uint32_t id);
void AppendSpdyNumber(std::string& out, std::uint32_t value);
// Requires four bytes from `at` on.
std::uint32_t SpdyNumber(std::string_view bytes, std::size_t at);

// One direction's header compression, which lives as long as the connection. Confined.
class SpdyHeaderEncoder {
 public:
  SpdyHeaderEncoder();
  ~SpdyHeaderEncoder();
  SpdyHeaderEncoder(const SpdyHeaderEncoder&) = delete;
  SpdyHeaderEncoder& operator=(const SpdyHeaderEncoder&) = delete;
  std::string Encode(const Headers& headers);

 private:
  struct Zlib;
  const std::unique_ptr<Zlib> zlib_;
};

class SpdyHeaderDecoder {
 public:
  SpdyHeaderDecoder();
  ~SpdyHeaderDecoder();
  SpdyHeaderDecoder(const SpdyHeaderDecoder&) = delete;
  SpdyHeaderDecoder& operator=(const SpdyHeaderDecoder&) = delete;
  // BadRequest if it is malformed or too large; the connection cannot go on then.
  Result<Headers> Decode(std::string_view block);

 private:
  struct Zlib;
  const std::unique_ptr<Zlib> zlib_;
};

// Confined. Feed it bytes as they come.
class SpdyReader {
 public:
  struct Events {
    // A whole control frame.
    UniqueFunction<void(SpdyType type, std::uint8_t flags, std::string_view payload)> control;
    // Part of a data frame, as it came; `fin` with the last part of a frame that says so.
    UniqueFunction<void(std::uint32_t stream_id, std::string_view data, bool fin)> data;
  };
  explicit SpdyReader(Events events) : events_(std::move(events)) {}

  // False: this is not SPDY/3, or a control frame is too large. Nothing more may be fed then.
  bool Feed(std::string_view data);

 private:
  bool TakeHead();
  std::string_view TakeData(std::string_view data);

  const Events events_;
  std::string buffer_;  // of an incomplete head or control frame
  bool in_data_ = false, in_control_ = false, fin_ = false;
  std::uint32_t stream_id_ = 0;
  std::uint16_t type_ = 0;
  std::uint8_t flags_ = 0;
  std::size_t left_ = 0;  // of the frame's payload
};

}  // namespace flyball::net
