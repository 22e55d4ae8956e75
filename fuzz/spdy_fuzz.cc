// SPDY frames and their compressed headers: any bytes are frames or an error, the same whether they come at
// once or in pieces; what we encode is read back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/spdy/spdy_frames.h"

namespace {

using namespace flyball::net;  // NOLINT(google-build-using-namespace)

// Data may come in other pieces, so it is collected by stream.
std::string Read(std::string_view bytes, std::size_t step) {
  std::string seen;
  std::uint32_t stream = 0;
  SpdyHeaderDecoder decoder;
  SpdyReader reader({[&](SpdyType type, std::uint8_t flags, std::string_view payload) {
                       seen +=
                           "|" + std::to_string(static_cast<int>(type)) + "," + std::to_string(flags) + ":";
                       seen += payload;
                       stream = 0;
                       if (type != SpdyType::kSynStream || payload.size() < 10) return;
                       if (const auto headers = decoder.Decode(payload.substr(10)))
                         for (const auto& [name, value] : *headers) seen += name + "=" + value + ";";
                     },
                     [&](std::uint32_t id, std::string_view data, bool fin) {
                       if (id != stream) seen += "|" + std::to_string(id) + "#";
                       stream = id;
                       seen += data;
                       if (fin) seen += "!";
                     }});
  bool good = true;
  for (std::size_t at = 0; at < bytes.size() && good; at += step) good = reader.Feed(bytes.substr(at, step));
  return seen + (good ? "" : " refused");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (Read(bytes, bytes.size()) != Read(bytes, 1 + data[0] / 2)) std::abort();
  SpdyHeaderDecoder decoder;
  (void)decoder.Decode(bytes);
  SpdyHeaderEncoder encoder;
  SpdyHeaderDecoder own;
  const std::string value(bytes.substr(0, 100));
  if (value.find('\0') != std::string::npos) return 0;  // separates values
  const auto back = own.Decode(encoder.Encode({{"name", value}}));
  if (!back || back->Get("name") != value) std::abort();
  return 0;
}
