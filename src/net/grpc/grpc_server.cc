#include "net/grpc/grpc_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include "net/exchange/trailer_prefix.h"
#include "net/grpc/grpc_message.h"
#include "net/server/http_server.h"

namespace flyball::net {
namespace {

// What grpc-go accepts by default.
constexpr std::size_t kMaxRequest = 4u << 20;
constexpr mode_t kSocketMode = 0600;

std::string PercentEncoded(std::string_view text) {
  constexpr char kHexDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      out += c;
      continue;
    }
    out += '%';
    out += kHexDigits[byte >> 4];
    out += kHexDigits[byte & 15];
  }
  return out;
}

void Answer(ResponseStream& stream, const Result<std::string>& outcome) {
  Headers head = {{"content-type", "application/grpc"}};
  const auto trailer = [&](std::string_view name, std::string value) {
    head.Add(std::string(kTrailerPrefix) + std::string(name), std::move(value));
  };
  const GrpcCode code = outcome ? GrpcCode::kOk : GrpcCodeOf(outcome.error());
  trailer("grpc-status", std::to_string(static_cast<int>(code)));
  if (!outcome) trailer("grpc-message", PercentEncoded(GrpcDescription(outcome.error())));
  stream.Begin(200, std::move(head));
  if (outcome) stream.Write(MakeBytes(FramedMessage(*outcome)));
  stream.End();
}

Result<std::string> Run(const GrpcServer::Method& method, std::string_view body) {
  GrpcFrameReader frames(kMaxRequest);
  frames.Add(body);
  FLYBALL_ASSIGN(const auto message, frames.Next());
  if (!message) return Unexpected(GrpcError(GrpcCode::kInternal, "the request is not one whole message"));
  return method(*message);
}

using Methods = std::map<std::string, GrpcServer::Method>;

// The answer is given later, from the executor.
Task<void> HandleCall(std::shared_ptr<const Methods> methods, Executor& executor,
                      std::shared_ptr<Request> request, std::shared_ptr<ResponseStream> stream) {
  const auto found = methods->find(request->target);
  if (found == methods->end()) {
    Answer(*stream, Unexpected(GrpcError(GrpcCode::kUnimplemented, "unknown method " + request->target)));
    co_return;
  }
  executor.Post([methods, found, request, stream] { Answer(*stream, Run(found->second, request->body)); });
}

}  // namespace

GrpcServer::GrpcServer(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}
GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::Start(const std::string& socket,
                                                      std::map<std::string, Method> methods,
                                                      Executor& executor) {
  unlink(socket.c_str());
  ServerOptions options;
  options.address = "unix://" + socket;
  options.io_threads = 1;
  options.limits.max_body_bytes = kMaxRequest;
  const auto shared = std::make_shared<const Methods>(std::move(methods));
  FLYBALL_ASSIGN(auto server,
                 HttpServer::Start(options, [shared, &executor](std::shared_ptr<Request> request,
                                                                std::shared_ptr<ResponseStream> stream) {
                   return HandleCall(shared, executor, std::move(request), std::move(stream));
                 }));
  chmod(socket.c_str(), kSocketMode);
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(server)));
}

}  // namespace flyball::net
