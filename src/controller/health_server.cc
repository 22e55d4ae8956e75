#include "controller/health_server.h"

#include <charconv>
#include <string_view>

namespace flyball {
namespace {

void Answer(net::ResponseStream& stream, const Status& status) {
  const net::Headers headers{{"content-type", "text/plain; charset=utf-8"}};
  if (status)
    stream.Send(200, headers, "ok");
  else
    stream.Send(500, headers, status.error().message() + "\n");
}

Task<void> Handle(Manager& manager, std::shared_ptr<net::Request> request,
                  std::shared_ptr<net::ResponseStream> stream) {
  const std::string_view target(request->target);
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/healthz")
    Answer(*stream, manager.Healthy());
  else if (path == "/readyz")
    Answer(*stream, manager.Ready());
  else if (path == "/metrics")
    stream->Send(200, {{"content-type", "text/plain; version=0.0.4; charset=utf-8"}},
                 manager.runtime().metrics.Serialize());
  else
    stream->Send(404, {{"content-type", "text/plain; charset=utf-8"}}, "404 page not found\n");
  co_return;
}

}  // namespace

Result<std::unique_ptr<HealthServer>> HealthServer::Start(const std::string& address, Manager& manager) {
  net::ServerOptions options;
  options.io_threads = 1;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Unexpected(BadRequest("\"" + address + "\" is not host:port"));
  options.address = colon == 0 ? "0.0.0.0" : address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (error != std::errc() || end != port.data() + port.size())
    return Unexpected(BadRequest("\"" + address + "\" is not host:port"));
  auto server = net::HttpServer::Start(options, [&manager](std::shared_ptr<net::Request> request,
                                                           std::shared_ptr<net::ResponseStream> stream) {
    return Handle(manager, std::move(request), std::move(stream));
  });
  if (!server) return Unexpected(server.error());
  return std::unique_ptr<HealthServer>(new HealthServer(std::move(*server)));
}

}  // namespace flyball
