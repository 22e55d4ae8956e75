// WebSocket frames: any bytes are messages or an error, the same whether they come at once or in pieces; no
// message is larger than the limit; what we encode is read back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/websocket/websocket_frames.h"

namespace {

using namespace flyball::net;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kMaxMessage = 4096;

std::string Read(bool masked, std::string_view bytes, std::size_t step) {
  std::string seen;
  WebSocketReader reader({masked, kMaxMessage}, [&](WebSocketOpcode opcode, std::string payload) {
    if (payload.size() > kMaxMessage) std::abort();
    seen += std::to_string(static_cast<int>(opcode)) + ":" + payload + ";";
  });
  int error = 0;
  for (std::size_t at = 0; at < bytes.size() && error == 0; at += step)
    error = reader.Feed(bytes.substr(at, step));
  return seen + std::to_string(error);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bool masked = data[0] % 2 == 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (Read(masked, bytes, bytes.size()) != Read(masked, bytes, 1 + data[0] / 2)) std::abort();
  const auto payload = bytes.substr(0, 125);
  const std::string frame =
      EncodeWebSocketFrame(WebSocketOpcode::kBinary, payload, masked, masked ? 0x12345678 : 0);
  if (Read(masked, frame, frame.size()) != "2:" + std::string(payload) + ";0") std::abort();
  return 0;
}
