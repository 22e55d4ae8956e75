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

#include "net/client/http_client.h"

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
  if (error == 0) return {true, {}};
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
  if (response->status >= 200 && response->status < 400) return {true, {}};
  return {false, "HTTP probe failed with statuscode: " + std::to_string(response->status)};
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
  } else {
    blocking.Post([done = std::move(done)] { done({false, "this kind of probe is not supported"}); });
  }
}

}  // namespace flyball::node
