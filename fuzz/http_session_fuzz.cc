// A whole server connection, HTTP/1.1 or HTTP/2: any bytes are answered or refused, and the server serves the
// next client. The server runs on loopback in this process.
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/observe/log.h"
#include "net/server/http_server.h"
#include "net/testing/raw_socket.h"

namespace {

using namespace flyball::net;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// An empty SETTINGS frame.
constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);

HttpServer& Server() {
  static const auto server = [] {
    flyball::log::SetLevel(flyball::log::Level::kNone);
    ServerOptions options;
    options.io_threads = 1;
    options.limits.max_body_bytes = 64u << 10;
    auto started = HttpServer::Start(
        options,
        [](std::shared_ptr<Request> request, std::shared_ptr<ResponseStream> stream) -> flyball::Task<void> {
          stream->Send(200, {{"x-method", request->method}}, request->target + request->body);
          co_return;
        });
    if (!started) std::abort();
    return std::move(*started);
  }();
  return *server;
}

std::string Exchange(std::string_view bytes) {
  RawSocket socket(Server().port());
  socket.Send(bytes);
  ::shutdown(socket.fd(), SHUT_WR);
  return socket.ReadAll();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes;
  if (data[0] % 4 != 0) bytes.append(kPreface);
  if (data[0] % 4 == 1) bytes.append(kSettings);
  bytes.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  Exchange(bytes);
  static int runs = 0;
  if (++runs % 256 == 0 &&
      Exchange("GET /alive HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("/alive") ==
          std::string::npos)
    std::abort();
  return 0;
}
