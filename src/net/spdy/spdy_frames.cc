#include "net/spdy/spdy_frames.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace flyball::net {

namespace {

constexpr std::size_t kSpdyHead = 8;
constexpr std::uint32_t kSpdyVersion = 3;
constexpr std::size_t kMaxSpdyControl = 64u << 10;
constexpr std::size_t kMaxSpdyHeaders = 64u << 10;

// The dictionary both sides begin with (SPDY Protocol, draft 3.1, 2.6.10.1): words with their lengths, then
// text that answers often hold.
std::string MakeSpdyDictionary() {
  constexpr std::string_view kWords[] = {"options",
                                         "head",
                                         "post",
                                         "put",
                                         "delete",
                                         "trace",
                                         "accept",
                                         "accept-charset",
                                         "accept-encoding",
                                         "accept-language",
                                         "accept-ranges",
                                         "age",
                                         "allow",
                                         "authorization",
                                         "cache-control",
                                         "connection",
                                         "content-base",
                                         "content-encoding",
                                         "content-language",
                                         "content-length",
                                         "content-location",
                                         "content-md5",
                                         "content-range",
                                         "content-type",
                                         "date",
                                         "etag",
                                         "expect",
                                         "expires",
                                         "from",
                                         "host",
                                         "if-match",
                                         "if-modified-since",
                                         "if-none-match",
                                         "if-range",
                                         "if-unmodified-since",
                                         "last-modified",
                                         "location",
                                         "max-forwards",
                                         "pragma",
                                         "proxy-authenticate",
                                         "proxy-authorization",
                                         "range",
                                         "referer",
                                         "retry-after",
                                         "server",
                                         "te",
                                         "trailer",
                                         "transfer-encoding",
                                         "upgrade",
                                         "user-agent",
                                         "vary",
                                         "via",
                                         "warning",
                                         "www-authenticate",
                                         "method",
                                         "get",
                                         "status",
                                         "200 OK",
                                         "version",
                                         "HTTP/1.1",
                                         "url",
                                         "public",
                                         "set-cookie",
                                         "keep-alive",
                                         "origin"};
  std::string dictionary;
  for (const std::string_view word : kWords) {
    AppendSpdyNumber(dictionary, static_cast<std::uint32_t>(word.size()));
    dictionary += word;
  }
  return dictionary +
         "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
         "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
         "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
         "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
         "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
         "text/"
         "javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
}

const std::string& SpdyDictionary() {
  static const auto* dictionary = new std::string(MakeSpdyDictionary());
  return *dictionary;
}

const Bytef* ZlibInput(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

// The pairs of a header block, after decompression.
Result<Headers> ParseSpdyPairs(std::string_view block) {
  const Error malformed = BadRequest("malformed SPDY header block");
  auto number = [&block](std::uint32_t& value) {
    if (block.size() < 4) return false;
    value = SpdyNumber(block, 0);
    block.remove_prefix(4);
    return true;
  };
  auto text = [&](std::string& value) {
    std::uint32_t size = 0;
    if (!number(size) || size > block.size()) return false;
    value = block.substr(0, size);
    block.remove_prefix(size);
    return true;
  };
  std::uint32_t count = 0;
  if (!number(count)) return Unexpected(malformed);
  Headers headers;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name, value;
    if (!text(name) || !text(value)) return Unexpected(malformed);
    headers.Add(name, std::move(value));
  }
  return headers;
}

}  // namespace

void AppendSpdyNumber(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

std::uint32_t SpdyNumber(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::string EncodeSpdyControl(SpdyType type, std::uint8_t flags, std::string_view payload) {
  std::string out;
  AppendSpdyNumber(out, 0x80000000u | kSpdyVersion << 16 | static_cast<std::uint32_t>(type));
  AppendSpdyNumber(out, static_cast<std::uint32_t>(flags) << 24 | static_cast<std::uint32_t>(payload.size()));
  return out.append(payload);
}

std::string EncodeSpdyData(std::uint32_t stream_id, bool fin, std::string_view data) {
  std::string out;
  out.reserve(kSpdyHead + data.size());
  AppendSpdyNumber(out, stream_id & 0x7fffffffu);
  AppendSpdyNumber(out, (fin ? 1u << 24 : 0) | static_cast<std::uint32_t>(data.size()));
  return out.append(data);
}

std::string EncodeSpdyPair(SpdyType type, std::uint32_t id, std::uint32_t number) {
  std::string payload;
  AppendSpdyNumber(payload, id);
  AppendSpdyNumber(payload, number);
  return EncodeSpdyControl(type, 0, payload);
}

std::string EncodeSpdyPing(std::uint32_t id) {
  std::string payload;
  AppendSpdyNumber(payload, id);
  return EncodeSpdyControl(SpdyType::kPing, 0, payload);
}

struct SpdyHeaderEncoder::Zlib {
  Zlib() {
    deflateInit(&stream, Z_DEFAULT_COMPRESSION);
    deflateSetDictionary(&stream, ZlibInput(SpdyDictionary()), static_cast<uInt>(SpdyDictionary().size()));
  }
  ~Zlib() { deflateEnd(&stream); }
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;
  z_stream stream{};
};

SpdyHeaderEncoder::SpdyHeaderEncoder() : zlib_(std::make_unique<Zlib>()) {}
SpdyHeaderEncoder::~SpdyHeaderEncoder() = default;

std::string SpdyHeaderEncoder::Encode(const Headers& headers) {
  std::string plain;
  AppendSpdyNumber(plain, static_cast<std::uint32_t>(headers.size()));
  for (const auto& [name, value] : headers)
    for (const std::string& text : {name, value}) {
      AppendSpdyNumber(plain, static_cast<std::uint32_t>(text.size()));
      plain += text;
    }
  z_stream& z = zlib_->stream;
  z.next_in = const_cast<Bytef*>(ZlibInput(plain));
  z.avail_in = static_cast<uInt>(plain.size());
  std::string out;
  std::array<char, 1024> piece;
  do {
    z.next_out = reinterpret_cast<Bytef*>(piece.data());
    z.avail_out = piece.size();
    deflate(&z, Z_SYNC_FLUSH);
    out.append(piece.data(), piece.size() - z.avail_out);
  } while (z.avail_out == 0);
  return out;
}

struct SpdyHeaderDecoder::Zlib {
  Zlib() { inflateInit(&stream); }
  ~Zlib() { inflateEnd(&stream); }
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;
  z_stream stream{};
};

SpdyHeaderDecoder::SpdyHeaderDecoder() : zlib_(std::make_unique<Zlib>()) {}
SpdyHeaderDecoder::~SpdyHeaderDecoder() = default;

Result<Headers> SpdyHeaderDecoder::Decode(std::string_view block) {
  z_stream& z = zlib_->stream;
  z.next_in = const_cast<Bytef*>(ZlibInput(block));
  z.avail_in = static_cast<uInt>(block.size());
  std::string plain;
  std::array<char, 4096> piece;
  do {
    z.next_out = reinterpret_cast<Bytef*>(piece.data());
    z.avail_out = piece.size();
    int result = inflate(&z, Z_SYNC_FLUSH);
    if (result == Z_NEED_DICT) {
      const std::string& dictionary = SpdyDictionary();
      if (inflateSetDictionary(&z, ZlibInput(dictionary), static_cast<uInt>(dictionary.size())) != Z_OK)
        return Unexpected(BadRequest("a SPDY header block needs another dictionary"));
      result = inflate(&z, Z_SYNC_FLUSH);
    }
    if (result != Z_OK && result != Z_BUF_ERROR)
      return Unexpected(BadRequest("a SPDY header block is not compressed right"));
    plain.append(piece.data(), piece.size() - z.avail_out);
    if (plain.size() > kMaxSpdyHeaders) return Unexpected(BadRequest("SPDY headers are too large"));
  } while (z.avail_out == 0 || z.avail_in > 0);
  return ParseSpdyPairs(plain);
}

bool SpdyReader::Feed(std::string_view data) {
  while (!data.empty()) {
    if (in_data_) {
      data = TakeData(data);
      continue;
    }
    const std::size_t wanted = (in_control_ ? left_ : kSpdyHead) - buffer_.size();
    const std::size_t n = std::min(wanted, data.size());
    buffer_.append(data.substr(0, n));
    data.remove_prefix(n);
    if (n < wanted) return true;
    if (!in_control_ && !TakeHead()) return false;
    if (in_control_ && buffer_.size() == left_) {
      in_control_ = false;
      const std::string payload = std::exchange(buffer_, {});
      events_.control(static_cast<SpdyType>(type_), flags_, payload);
    }
  }
  return true;
}

bool SpdyReader::TakeHead() {
  const std::uint32_t first = SpdyNumber(buffer_, 0), second = SpdyNumber(buffer_, 4);
  buffer_.clear();
  flags_ = static_cast<std::uint8_t>(second >> 24);
  left_ = second & 0xffffffu;
  if ((first & 0x80000000u) == 0) {
    stream_id_ = first;
    fin_ = (flags_ & kSpdyFin) != 0;
    in_data_ = left_ > 0;
    if (!in_data_) events_.data(stream_id_, {}, fin_);
    return true;
  }
  type_ = static_cast<std::uint16_t>(first);
  in_control_ = true;
  return (first >> 16 & 0x7fffu) == kSpdyVersion && left_ <= kMaxSpdyControl;
}

std::string_view SpdyReader::TakeData(std::string_view data) {
  const std::size_t n = std::min(left_, data.size());
  left_ -= n;
  in_data_ = left_ > 0;
  events_.data(stream_id_, data.substr(0, n), !in_data_ && fin_);
  data.remove_prefix(n);
  return data;
}

}  // namespace flyball::net
