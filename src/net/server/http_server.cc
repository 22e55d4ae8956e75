#include "net/server/http_server.h"

#include <atomic>
#include <functional>
#include <vector>

#include "base/observe/log.h"
#include "base/run/notification.h"
#include "net/exchange/server_context.h"
#include "net/io/listener.h"
#include "net/server/server_connections.h"
#include "net/tls/tls.h"

namespace flyball::net {

namespace {

// A handler that was told to stop and does not return is waited for this long when the server goes, then left
// behind.
constexpr Duration kHandlerPatience = std::chrono::seconds(2);

class Server final : public HttpServer {
 public:
  Server(std::shared_ptr<ServerContext> context, std::shared_ptr<TlsContext> tls)
      : context_(std::move(context)), tls_(std::move(tls)) {}
  ~Server() override;

  Status Open(const ServerOptions& options);
  int port() const override { return port_; }
  Status SetTls(const ServerTls& tls) override;
  void Shutdown(Duration grace) override;
  std::size_t open_connections() const override { return context_->open_connections; }

 private:
  // Polls `done` on the first loop's timers until it holds or `limit` has passed.
  void WaitUntil(Duration limit, std::function<bool()> done);
  void OnEachLoop(void (ServerConnections::*method)());

  const std::shared_ptr<ServerContext> context_;
  const std::shared_ptr<TlsContext> tls_;  // as it was at the start
  std::vector<std::shared_ptr<IoLoop>> loops_;
  std::vector<std::shared_ptr<ServerConnections>> connections_;  // one a loop
  std::unique_ptr<Listener> listener_;
  int port_ = 0;
  std::atomic<std::size_t> next_loop_{0};
  std::atomic<bool> stopped_{false};
};

Status Server::Open(const ServerOptions& options) {
  for (int i = 0; i < std::max(1, options.io_threads); ++i) {
    loops_.push_back(std::make_shared<IoLoop>("io-server-" + std::to_string(i)));
    connections_.push_back(std::make_shared<ServerConnections>(loops_.back(), context_, tls_));
  }
  auto listener = Listener::Open(*loops_[0], options.address, options.port, [this](int fd) {
    const std::size_t i = next_loop_++ % loops_.size();
    loops_[i]->Post([connections = connections_[i], fd] { connections->Accept(fd); });
  });
  if (!listener) return Unexpected(listener.error());
  listener_ = std::move(*listener);
  port_ = listener_->port();
  return {};
}

Status Server::SetTls(const ServerTls& tls) {
  FLYBALL_ASSIGN(const auto context, TlsContext::ForServer(tls));
  for (std::size_t i = 0; i < loops_.size(); ++i)
    loops_[i]->Post([connections = connections_[i], context] { connections->SetTls(context); });
  return {};
}

void Server::OnEachLoop(void (ServerConnections::*method)()) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    auto done = std::make_shared<Notification<bool>>();
    loops_[i]->Post([connections = connections_[i], method, done] {
      ((*connections).*method)();
      done->Set(true);
    });
    done->Wait();
  }
}

void Server::WaitUntil(Duration limit, std::function<bool()> done) {
  constexpr Duration kStep = std::chrono::milliseconds(2);
  const SteadyTime end = loops_[0]->clock().Steady() + limit;
  while (!done() && loops_[0]->clock().Steady() < end) {
    auto tick = std::make_shared<Notification<bool>>();
    loops_[0]->PostAfter(kStep, [tick] { tick->Set(true); });
    tick->Wait();
  }
}

void Server::Shutdown(Duration grace) {
  if (stopped_.exchange(true)) return;
  if (loops_.empty()) return;
  context_->shutting_down = true;
  if (listener_) listener_->Close();
  OnEachLoop(&ServerConnections::BeginShutdown);
  WaitUntil(grace, [this] { return context_->open_connections == 0; });
  OnEachLoop(&ServerConnections::CloseAll);
  WaitUntil(kHandlerPatience, [this] { return context_->running_handlers == 0; });
  if (const std::size_t left = context_->running_handlers; left > 0)
    log::Warning("request handlers did not end", {{"count", std::to_string(left)}});
  listener_ = nullptr;
  for (auto& loop : loops_) loop->Stop();
}

Server::~Server() {
  Shutdown(Duration::zero());
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const ServerOptions& options, Handler handler) {
  std::shared_ptr<TlsContext> tls;
  if (options.tls) {
    FLYBALL_ASSIGN(tls, TlsContext::ForServer(*options.tls));
  }
  auto context = std::make_shared<ServerContext>();
  context->handler = std::move(handler);
  context->limits = options.limits;
  auto server = std::make_unique<Server>(std::move(context), std::move(tls));
  FLYBALL_TRY(server->Open(options));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace flyball::net
