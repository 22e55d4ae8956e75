#include "node/log_server.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "api/status.h"
#include "json/json.h"
#include "net/pki.h"

namespace flyball::node {
namespace {

constexpr Duration kFollowInterval = std::chrono::milliseconds(200);  // only while somebody follows
constexpr std::size_t kChunk = 64u << 10;

struct LogRequest {
  std::string namespace_name, pod, container;
  bool follow = false, previous = false;
  std::optional<std::size_t> tail_lines, limit_bytes;
};

std::optional<std::size_t> Number(std::string_view text) {
  std::size_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

// /containerLogs/<namespace>/<pod>/<container>?follow=true&...
std::optional<LogRequest> Parse(std::string_view target) {
  constexpr std::string_view kPrefix = "/containerLogs/";
  if (!target.starts_with(kPrefix)) return std::nullopt;
  const auto question = target.find('?');
  std::stringstream path{std::string(target.substr(kPrefix.size(), question - kPrefix.size()))};
  LogRequest request;
  std::getline(path, request.namespace_name, '/');
  std::getline(path, request.pod, '/');
  std::getline(path, request.container, '/');
  if (request.container.empty()) return std::nullopt;
  if (question == std::string_view::npos) return request;
  std::stringstream query{std::string(target.substr(question + 1))};
  for (std::string pair; std::getline(query, pair, '&');) {
    const auto equals = pair.find('=');
    const auto key = pair.substr(0, equals),
               value = equals == std::string::npos ? "" : pair.substr(equals + 1);
    if (key == "follow") request.follow = value == "true" || value == "1";
    if (key == "previous") request.previous = value == "true" || value == "1";
    if (key == "tailLines") request.tail_lines = Number(value);
    if (key == "limitBytes") request.limit_bytes = Number(value);
  }
  return request;
}

void SendError(net::ResponseStream& stream, const Error& error) {
  net::Headers headers;
  headers.Set("content-type", "application/json");
  stream.Send(error.code(), std::move(headers), json::Write(api::StatusFromError(error)));
}

// Where the last n lines begin.
std::size_t TailStart(const std::string& text, std::size_t lines) {
  std::size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  while (lines > 0 && at > 0) {
    const auto newline = text.rfind('\n', at - 1);
    if (newline == std::string::npos) return 0;
    at = newline;
    --lines;
  }
  return at == 0 ? 0 : at + 1;
}

std::string ReadFrom(const std::string& path, std::size_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::stringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

class HttpsLogServer final : public LogServer {
 public:
  HttpsLogServer(Executor& executor, FindLog find) : executor_(executor), find_(std::move(find)) {}

  Status Listen(const LogServerOptions& options) {
    const TimePoint now = executor_.clock().Now() - std::chrono::minutes(1);
    constexpr Duration kYear = std::chrono::hours(24 * 365);
    FLYBALL_ASSIGN(const auto authority, net::MakeCertificateAuthority("flyball-node", now, kYear));
    net::CertificateRequest request;
    request.common_name = "flyball-node";
    request.server = true;
    request.dns_names = {"localhost"};
    request.ip_addresses = {options.address};
    FLYBALL_ASSIGN(const auto pair, net::IssueCertificate(authority, request, now, kYear));
    net::ServerTls tls{pair.certificate_pem, pair.private_key_pem, options.client_ca_pem};
    net::ServerOptions server;
    server.address = options.address;
    server.port = options.port;
    server.tls = &tls;
    server.io_threads = 1;
    FLYBALL_ASSIGN(http_, net::HttpServer::Start(
                              server, [this](auto asked, auto stream) { return Handle(asked, stream); }));
    return {};
  }

  int port() const override { return http_->port(); }

 private:
  static bool Allowed(const net::Peer& peer) {
    if (!peer.verified) return false;
    const auto& groups = peer.organizations;
    return peer.common_name == kNodeClientUser ||
           std::find(groups.begin(), groups.end(), "system:masters") != groups.end();
  }

  Task<void> Handle(std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream) {
    if (!Allowed(request->peer)) {
      SendError(*stream, Error(Reason::kForbidden, "only the API server may ask this node"));
      co_return;
    }
    if (request->target == "/healthz") {
      stream->Send(200, {}, "ok");
      co_return;
    }
    const auto wanted = Parse(request->target);
    if (!wanted) {
      SendError(*stream, Error(Reason::kNotFound, "this node has no page " + request->target));
      co_return;
    }
    const auto path = find_(wanted->namespace_name, wanted->pod, wanted->container, wanted->previous);
    if (!path) {
      SendError(*stream, path.error());
      co_return;
    }
    co_await Send(*wanted, *path, stream);
  }

  Task<void> Send(LogRequest request, std::string path, std::shared_ptr<net::ResponseStream> stream) {
    std::string text = ReadFrom(path, 0);
    std::size_t offset = text.size();
    if (request.tail_lines) text.erase(0, TailStart(text, *request.tail_lines));
    if (request.limit_bytes && text.size() > *request.limit_bytes) text.resize(*request.limit_bytes);
    net::Headers headers;
    headers.Set("content-type", "text/plain");
    if (!request.follow) {
      stream->Send(200, std::move(headers), std::move(text));
      co_return;
    }
    stream->Begin(200, std::move(headers));
    if (!text.empty()) stream->Write(MakeBytes(std::move(text)));
    while (!stream->closed()) {
      auto start = [&](UniqueFunction<void(bool)> done) {
        stream->executor().PostAfter(kFollowInterval, [done = std::move(done)] { done(true); });
      };
      auto pause = Callback<bool>(stream->executor(), std::move(start));
      co_await pause;
      std::string more = stream->pending_bytes() > kChunk ? "" : ReadFrom(path, offset);
      offset += more.size();
      if (!more.empty() && !stream->Write(MakeBytes(std::move(more)))) break;
      // A container that runs again writes to another file: this one has ended.
      const auto current = find_(request.namespace_name, request.pod, request.container, request.previous);
      if (!current || *current != path) break;
    }
    stream->End();
  }

  Executor& executor_;
  const FindLog find_;
  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace

Result<std::unique_ptr<LogServer>> LogServer::Start(const LogServerOptions& options, Executor& executor,
                                                    FindLog find) {
  auto server = std::make_unique<HttpsLogServer>(executor, std::move(find));
  FLYBALL_TRY(server->Listen(options));
  return std::unique_ptr<LogServer>(std::move(server));
}

}  // namespace flyball::node
