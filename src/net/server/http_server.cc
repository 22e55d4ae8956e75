#include "net/server/http_server.h"

#include <atomic>
#include <functional>
#include <vector>

#include "base/observe/log.h"
#include "base/run/mutex.h"
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

// A port, who answers there, and the connections that came by it.
struct Site {
  std::shared_ptr<ServerContext> context;
  std::vector<std::shared_ptr<ServerConnections>> connections;  // one a loop
  std::unique_ptr<Listener> listener;
};

class Server final : public HttpServer {
 public:
  Server(const ServerOptions& options, std::shared_ptr<TlsContext> tls)
      : address_(options.address),
        limits_(options.limits),
        goaway_chance_(options.goaway_chance),
        random_(options.random),
        tls_(std::move(tls)) {
    for (int i = 0; i < std::max(1, options.io_threads); ++i)
      loops_.push_back(std::make_shared<IoLoop>("io-server-" + std::to_string(i)));
  }
  ~Server() override;

  Status Open(int port, Handler handler) {
    FLYBALL_ASSIGN(port_, AlsoListen(port, std::move(handler), address_));
    return {};
  }
  int port() const override { return port_; }
  Result<int> AlsoListen(int port, Handler handler, const std::string& address) override;
  Status SetTls(const ServerTls& tls) override;
  void Shutdown(Duration grace) override;
  std::size_t open_connections() const override {
    return Sum([](const ServerContext& context) { return std::size_t{context.open_connections}; });
  }

 private:
  template <typename Fn>
  std::size_t Sum(Fn of) const {
    MutexLock lock(mu_);
    std::size_t sum = 0;
    for (const auto& site : sites_) sum += of(*site->context);
    return sum;
  }
  // Polls `done` on the first loop's timers until it holds or `limit` has passed.
  void WaitUntil(Duration limit, std::function<bool()> done);
  void OnEachLoop(void (ServerConnections::*method)());

  const std::string address_;
  const ServerLimits limits_;
  const double goaway_chance_;
  Random* const random_;
  std::vector<std::shared_ptr<IoLoop>> loops_;
  int port_ = 0;
  std::atomic<std::size_t> next_loop_{0};
  std::atomic<bool> stopped_{false};
  mutable Mutex mu_;
  std::shared_ptr<TlsContext> tls_ FLYBALL_GUARDED_BY(mu_);  // what connections get from now on
  std::vector<std::shared_ptr<Site>> sites_ FLYBALL_GUARDED_BY(mu_);
};

Result<int> Server::AlsoListen(int port, Handler handler, const std::string& address) {
  auto site = std::make_shared<Site>();
  site->context = std::make_shared<ServerContext>();
  site->context->handler = std::move(handler);
  site->context->limits = limits_;
  site->context->goaway_chance = goaway_chance_;
  site->context->random = random_;
  MutexLock lock(mu_);
  for (const auto& loop : loops_)
    site->connections.push_back(std::make_shared<ServerConnections>(loop, site->context, tls_));
  auto listener =
      Listener::Open(*loops_[0], address.empty() ? address_ : address, port,
                     [this, connections = site->connections](int fd) {
                       const std::size_t i = next_loop_++ % loops_.size();
                       loops_[i]->Post([accepting = connections[i], fd] { accepting->Accept(fd); });
                     });
  if (!listener) return Unexpected(listener.error());
  site->listener = std::move(*listener);
  sites_.push_back(site);
  return site->listener->port();
}

Status Server::SetTls(const ServerTls& tls) {
  FLYBALL_ASSIGN(const auto context, TlsContext::ForServer(tls));
  MutexLock lock(mu_);
  tls_ = context;
  for (const auto& site : sites_)
    for (std::size_t i = 0; i < loops_.size(); ++i)
      loops_[i]->Post([connections = site->connections[i], context] { connections->SetTls(context); });
  return {};
}

void Server::OnEachLoop(void (ServerConnections::*method)()) {
  std::vector<std::shared_ptr<Site>> sites;
  {
    MutexLock lock(mu_);
    sites = sites_;
  }
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    auto done = std::make_shared<Notification<bool>>();
    loops_[i]->Post([sites, i, method, done] {
      for (const auto& site : sites) ((*site->connections[i]).*method)();
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
  std::vector<std::shared_ptr<Site>> sites;
  {
    MutexLock lock(mu_);
    sites = sites_;
  }
  for (const auto& site : sites) {
    site->context->shutting_down = true;
    site->listener->Close();
  }
  const auto handlers = [this] {
    return Sum([](const ServerContext& context) { return std::size_t{context.running_handlers}; });
  };
  OnEachLoop(&ServerConnections::BeginShutdown);
  WaitUntil(grace, [this] { return open_connections() == 0; });
  OnEachLoop(&ServerConnections::CloseAll);
  WaitUntil(kHandlerPatience, [&] { return handlers() == 0; });
  if (const std::size_t left = handlers(); left > 0)
    log::Warning("request handlers did not end", {{"count", std::to_string(left)}});
  for (const auto& site : sites) site->listener = nullptr;
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
  auto server = std::make_unique<Server>(options, std::move(tls));
  FLYBALL_TRY(server->Open(options.port, std::move(handler)));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace flyball::net
