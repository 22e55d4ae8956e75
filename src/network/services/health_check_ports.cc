#include "network/services/health_check_ports.h"

namespace flyball::network {

struct HealthCheckPorts::Answers {
  Mutex mu;
  std::map<std::uint16_t, HealthCheckPort> ports FLYBALL_GUARDED_BY(mu);
  std::function<bool()> healthy;

  void Send(std::uint16_t port, net::ResponseStream& stream) {
    HealthCheckPort asked;
    {
      MutexLock lock(mu);
      asked = ports[port];
    }
    const bool up_to_date = healthy();
    // In the words and the layout of kube-proxy.
    const std::string body = "{\n\t\"service\": {\n\t\t\"namespace\": \"" + asked.ns +
                             "\",\n\t\t\"name\": \"" + asked.service +
                             "\"\n\t},\n\t\"localEndpoints\": " + std::to_string(asked.local_endpoints) +
                             ",\n\t\"serviceProxyHealthy\": " + (up_to_date ? "true" : "false") + "\n}";
    stream.Send(asked.local_endpoints > 0 && up_to_date ? 200 : 503,
                {{"content-type", "application/json"},
                 {"x-content-type-options", "nosniff"},
                 {"x-load-balancing-endpoint-weight", std::to_string(asked.local_endpoints)}},
                body);
  }
};

namespace {

template <typename Answers>
Task<void> AnswerHealthCheck(std::shared_ptr<Answers> answers, std::uint16_t port,
                             std::shared_ptr<net::ResponseStream> stream) {
  answers->Send(port, *stream);
  co_return;
}

}  // namespace

HealthCheckPorts::HealthCheckPorts(NetworkNamespace::Ptr ns, std::function<bool()> healthy)
    : ns_(std::move(ns)), answers_(std::make_shared<Answers>()) {
  answers_->healthy = std::move(healthy);
}

HealthCheckPorts::~HealthCheckPorts() = default;

Result<std::unique_ptr<net::HttpServer>> HealthCheckPorts::Listen(std::uint16_t port) {
  const auto listen = [&] {
    const auto handler = [answers = answers_, port](std::shared_ptr<net::Request>,
                                                    std::shared_ptr<net::ResponseStream> stream) {
      return AnswerHealthCheck(answers, port, std::move(stream));
    };
    // Both families where there are both.
    net::ServerOptions options{.address = "::", .port = port, .io_threads = 1};
    auto server = net::HttpServer::Start(options, handler);
    if (server) return server;
    options.address = "0.0.0.0";
    return net::HttpServer::Start(options, handler);
  };
  return ns_ ? ns_->Run(listen) : listen();
}

void HealthCheckPorts::Update(const std::map<std::uint16_t, HealthCheckPort>& ports,
                              const std::function<void(const HealthCheckPort&, const Error&)>& failed) {
  {
    MutexLock lock(answers_->mu);
    answers_->ports = ports;
  }
  std::erase_if(servers_, [&](const auto& server) { return ports.count(server.first) == 0; });
  for (const auto& [port, asked] : ports) {
    if (servers_.count(port)) continue;
    auto server = Listen(port);
    if (server)
      servers_[port] = std::move(*server);
    else
      failed(asked, server.error());
  }
}

}  // namespace flyball::network
