#include "node/pod/probe_request.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "api/values/duration.h"
#include "base/values/protobuf_wire.h"
#include "net/client/http_client.h"
#include "net/grpc/grpc_channel.h"

namespace flyball::node {
namespace {

int PortOf(const api::IntOrString& port, const Container& container) {
  if (!port.is_string()) return port.number();
  for (const ContainerPort& known : container.ports)
    if (known.name == port.text()) return known.container_port;
  return 0;
}

ProbeAnswer Connect(const std::string& host, int port, Duration timeout) {
  const std::string where = "dial tcp " + host + ":" + std::to_string(port) + ": ";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &address.sin_addr) != 1)
    return {false, where + "not an address"};
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return {false, where + strerror(errno)};
  int error = 0;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      pollfd waiting{fd, POLLOUT, 0};
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
      error = ETIMEDOUT;
      socklen_t size = sizeof(error);
      if (poll(&waiting, 1, static_cast<int>(ms)) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  close(fd);
  if (error == 0) return {true, {}, true};
  if (error == ETIMEDOUT) return {false, where + "i/o timeout"};
  std::string why = strerror(error);
  why[0] = static_cast<char>(std::tolower(why[0]));
  return {false, where + "connect: " + why};
}

ProbeAnswer Get(const HTTPGetAction& action, const std::string& host, int port, Duration timeout,
                Executor& executor) {
  const std::string scheme = action.scheme == "HTTPS" ? "https" : "http";
  const std::string origin = scheme + "://" + host + ":" + std::to_string(port);
  const std::string path = action.path.empty() ? "/" : action.path;
  // Upstream's probes do not verify certificates either.
  auto client = net::NewHttpClient(
      {.url = origin, .tls = {.insecure_skip_verify = true}, .http2 = false, .connect_timeout = timeout});
  const auto failed = [&](const std::string& why) {
    return ProbeAnswer{false, "Get \"" + origin + path + "\": " + why};
  };
  if (!client) return failed(client.error().message());
  net::Request request{.target = path.starts_with("/") ? path : "/" + path,
                       .headers = {{"user-agent", "kube-probe/1.37"}, {"accept", "*/*"}}};
  for (const HTTPHeader& header : action.http_headers) request.headers.Add(header.name, header.value);
  const auto response = net::RoundTrip(**client, std::move(request), executor, timeout);
  if (!response) {
    const bool late = response.error().Is(Reason::kTimeout) || response.error().Is(Reason::kCancelled);
    return failed(late ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
                       : response.error().message());
  }
  if (response->status >= 200 && response->status < 400) return {true, {}, true};
  return {false, "HTTP probe failed with statuscode: " + std::to_string(response->status), true};
}

// Of HealthCheckResponse.ServingStatus.
std::string_view ServingStatusName(std::uint64_t status) {
  constexpr std::string_view kNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  return status < std::size(kNames) ? kNames[status] : "UNKNOWN";
}

std::uint64_t ReadServingStatus(std::string_view message) {
  WireReader reader(message);
  std::uint64_t status = 0;
  while (reader.NextField()) {
    if (reader.number() == 1 && reader.type() == WireType::kVarint)
      status = reader.Varint();
    else
      reader.Skip();
  }
  return status;
}

// Upstream: probe/grpc, with its words.
ProbeAnswer CheckHealth(const std::string& host, int port, const std::string& service, Duration timeout) {
  const std::string address = host + ":" + std::to_string(port);
  net::GrpcChannelOptions options;
  options.client = {.url = "h2c://" + address, .connect_timeout = timeout};
  options.metadata.Set("user-agent", "kube-probe/1.37");
  const auto channel = net::GrpcChannel::Make(std::move(options));
  if (!channel)
    return {false, "error: failed to connect service at \"" + address + "\": " + channel.error().message()};
  std::string question;
  if (!service.empty()) WireWriter(question).Bytes(1, service);
  const auto answer = (*channel)->Call("/grpc.health.v1.Health/Check", question, {.timeout = timeout});
  if (answer) {
    const std::uint64_t status = ReadServingStatus(*answer);
    if (status == 1) return {true, {}, true};
    return {false, "service unhealthy (responded with \"" + std::string(ServingStatusName(status)) + "\")",
            true};
  }
  const Error& error = answer.error();
  const std::string within = api::FormatDuration(timeout);
  if (error.Is(Reason::kConnection))
    return {false, "timeout: failed to connect service \"" + address + "\" within " + within +
                       ": context deadline exceeded"};
  if (error.Is(Reason::kTimeout)) return {false, "timeout: health rpc did not complete within " + within};
  constexpr std::string_view kUnimplemented = "rpc error: code = Unimplemented desc = ";
  if (error.message().starts_with(kUnimplemented))
    return {false,
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " +
                error.message().substr(kUnimplemented.size())};
  return {false, "error: health rpc probe failed: " + error.message()};
}

}  // namespace

void AskOverNetwork(const Probe& probe, const Container& container, const std::string& pod_ip,
                    Executor& blocking, Executor& executor, UniqueFunction<void(ProbeAnswer)> done) {
  const Duration timeout = std::chrono::seconds(std::max(1, probe.timeout_seconds));
  if (const auto& action = probe.http_get) {
    const std::string host = action->host.empty() ? pod_ip : action->host;
    blocking.Post([action = *action, host, port = PortOf(action->port, container), timeout, &executor,
                   done = std::move(done)] { done(Get(action, host, port, timeout, executor)); });
  } else if (const auto& socket = probe.tcp_socket) {
    const std::string host = socket->host.empty() ? pod_ip : socket->host;
    blocking.Post([host, port = PortOf(socket->port, container), timeout, done = std::move(done)] {
      done(Connect(host, port, timeout));
    });
  } else if (const auto& grpc = probe.grpc) {
    blocking.Post([host = pod_ip, port = grpc->port, service = grpc->service.value_or(""), timeout,
                   done = std::move(done)] { done(CheckHealth(host, port, service, timeout)); });
  } else {
    blocking.Post([done = std::move(done)] { done({false, "this kind of probe is not supported"}); });
  }
}

}  // namespace flyball::node
