#include "net/websocket/websocket_frames.h"

#include <openssl/sha.h>

#include "net/tls/pki.h"

namespace flyball::net {

namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kMaxControlPayload = 125;

bool IsControl(WebSocketOpcode opcode) {
  return static_cast<std::uint8_t>(opcode) >= 8;
}

std::uint64_t BigEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

void AppendBigEndian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace

std::string EncodeWebSocketFrame(WebSocketOpcode opcode, std::string_view payload, bool mask,
                                 std::uint32_t key) {
  std::string out;
  out.reserve(payload.size() + 14);
  out += static_cast<char>(0x80 | static_cast<int>(opcode));
  const int mask_bit = mask ? 0x80 : 0;
  if (payload.size() <= kMaxControlPayload) {
    out += static_cast<char>(mask_bit | static_cast<int>(payload.size()));
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(mask_bit | 126);
    AppendBigEndian(out, payload.size(), 2);
  } else {
    out += static_cast<char>(mask_bit | 127);
    AppendBigEndian(out, payload.size(), 8);
  }
  if (!mask) return out.append(payload);
  std::string key_bytes;
  AppendBigEndian(key_bytes, key, 4);
  out += key_bytes;
  for (std::size_t i = 0; i < payload.size(); ++i) out += static_cast<char>(payload[i] ^ key_bytes[i % 4]);
  return out;
}

std::string EncodeClosePayload(int code, std::string_view reason) {
  std::string out;
  AppendBigEndian(out, static_cast<std::uint64_t>(code), 2);
  out += reason.substr(0, kMaxControlPayload - 2);
  return out;
}

std::string WebSocketAccept(std::string_view key) {
  const std::string text = std::string(key) + std::string(kGuid);
  std::string digest(SHA_DIGEST_LENGTH, '\0');
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()));
  return Base64Encode(digest);
}

int WebSocketReader::Feed(std::string_view data) {
  buffer_.append(data);
  std::size_t at = 0;
  int error = 0;
  while (error == 0) {
    const std::string_view rest = std::string_view(buffer_).substr(at);
    Head head;
    if (!ParseHead(rest, head, error) || error != 0) break;
    if (rest.size() - head.bytes < head.size) break;
    std::string payload(rest.substr(head.bytes, head.size));
    if (limits_.masked)
      for (std::size_t i = 0; i < payload.size(); ++i)
        payload[i] = static_cast<char>(payload[i] ^ head.key[i % 4]);
    at += head.bytes + head.size;
    error = Take(head, std::move(payload));
  }
  buffer_.erase(0, at);
  if (buffer_.empty()) buffer_.shrink_to_fit();
  return error;
}

bool WebSocketReader::ParseHead(std::string_view data, Head& head, int& error) const {
  if (data.size() < 2) return false;
  const auto first = static_cast<unsigned char>(data[0]), second = static_cast<unsigned char>(data[1]);
  head.final = (first & 0x80) != 0;
  head.opcode = static_cast<WebSocketOpcode>(first & 0x0f);
  const bool masked = (second & 0x80) != 0;
  const int short_size = second & 0x7f;
  const std::size_t size_bytes = short_size == 126 ? 2 : short_size == 127 ? 8 : 0;
  head.bytes = 2 + size_bytes + (masked ? 4 : 0);
  if ((first & 0x70) != 0 || masked != limits_.masked) error = kWsProtocolError;
  if (error != 0 || data.size() < head.bytes) return error != 0;
  head.size =
      size_bytes == 0 ? static_cast<std::uint64_t>(short_size) : BigEndian(data.substr(2, size_bytes));
  if (masked)
    for (std::size_t i = 0; i < 4; ++i) head.key[i] = static_cast<unsigned char>(data[2 + size_bytes + i]);
  error = Check(head);
  return true;
}

int WebSocketReader::Check(const Head& head) const {
  switch (head.opcode) {
    case WebSocketOpcode::kClose:
    case WebSocketOpcode::kPing:
    case WebSocketOpcode::kPong:
      return head.final && head.size <= kMaxControlPayload ? 0 : kWsProtocolError;
    case WebSocketOpcode::kContinuation:
      if (message_opcode_ == WebSocketOpcode::kContinuation) return kWsProtocolError;
      break;
    case WebSocketOpcode::kText:
    case WebSocketOpcode::kBinary:
      if (message_opcode_ != WebSocketOpcode::kContinuation) return kWsProtocolError;
      break;
    default:
      return kWsProtocolError;
  }
  if (head.size > limits_.max_message || message_.size() + head.size > limits_.max_message) return kWsTooBig;
  return 0;
}

int WebSocketReader::Take(const Head& head, std::string payload) {
  if (IsControl(head.opcode)) {
    on_frame_(head.opcode, std::move(payload));
    return 0;
  }
  const bool continues = head.opcode == WebSocketOpcode::kContinuation;
  if (!continues && head.final) {
    on_frame_(head.opcode, std::move(payload));
    return 0;
  }
  if (!continues) message_opcode_ = head.opcode;
  message_.append(payload);
  if (head.final)
    on_frame_(std::exchange(message_opcode_, WebSocketOpcode::kContinuation), std::exchange(message_, {}));
  return 0;
}

}  // namespace flyball::net
