#include "controller/health_server.h"

#include <charconv>
#include <string_view>

namespace flyball {
namespace {

constexpr char kPlainText[] = "text/plain; charset=utf-8";

void Answer(net::ResponseStream& stream, std::string_view endpoint, bool verbose,
            const Manager::CheckResults& results) {
  bool good = true;
  std::string lines;
  for (const auto& [name, status] : results) {
    good = good && status.has_value();
    lines += status ? "[+]" + name + " ok\n" : "[-]" + name + " failed: " + status.error().message() + "\n";
  }
  const net::Headers headers{{"content-type", kPlainText}};
  if (good && !verbose) return stream.Send(200, headers, "ok");
  lines += std::string(endpoint) + " check " + (good ? "passed\n" : "failed\n");
  stream.Send(good ? 200 : 500, headers, lines);
}

Task<void> Handle(Manager& manager, std::shared_ptr<net::Request> request,
                  std::shared_ptr<net::ResponseStream> stream) {
  const std::string_view target(request->target);
  const std::string_view path = target.substr(0, target.find('?'));
  const bool verbose = target.find("?verbose") != std::string_view::npos;
  if (path == "/healthz" || path == "/livez")
    Answer(*stream, path.substr(1), verbose, manager.HealthChecks());
  else if (path == "/readyz")
    Answer(*stream, path.substr(1), verbose, manager.ReadyChecks());
  else if (path == "/metrics")
    stream->Send(200, {{"content-type", "text/plain; version=0.0.4; charset=utf-8"}},
                 manager.runtime().metrics.Serialize());
  else if (const auto& log = manager.options().reconciles; path == "/debug/reconciles" && log)
    stream->Send(200, {{"content-type", "application/json"}}, log->ToJson());
  else
    stream->Send(404, {{"content-type", kPlainText}}, "404 page not found\n");
  co_return;
}

}  // namespace

Result<net::ServerOptions> PlainServerAt(const std::string& address) {
  net::ServerOptions options;
  options.io_threads = 1;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Unexpected(BadRequest("\"" + address + "\" is not host:port"));
  options.address = colon == 0 ? "0.0.0.0" : address.substr(0, colon);
  if (options.address.front() == '[' && options.address.back() == ']')
    options.address = options.address.substr(1, options.address.size() - 2);
  const std::string port = address.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (error != std::errc() || end != port.data() + port.size())
    return Unexpected(BadRequest("\"" + address + "\" is not host:port"));
  return options;
}

Result<std::unique_ptr<HealthServer>> HealthServer::Start(const std::string& address, Manager& manager) {
  FLYBALL_ASSIGN(const net::ServerOptions options, PlainServerAt(address));
  auto server = net::HttpServer::Start(options, [&manager](std::shared_ptr<net::Request> request,
                                                           std::shared_ptr<net::ResponseStream> stream) {
    return Handle(manager, std::move(request), std::move(stream));
  });
  if (!server) return Unexpected(server.error());
  return std::unique_ptr<HealthServer>(new HealthServer(std::move(*server)));
}

}  // namespace flyball
