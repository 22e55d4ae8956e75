#include "net/client/http_client.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/run/mutex.h"
#include "net/client/client_pool.h"
#include "net/client/websocket_client.h"

namespace flyball::net {

namespace {

// Ends clients that were dropped on one of their own threads. Thread-safe. Lives for ever; its thread ends
// before static objects do, with nothing left to close: one that outlived main would use OpenSSL while that
// is taken down.
class Undertaker {
 public:
  static Undertaker& Get() {
    static auto* undertaker = new Undertaker;
    static const EndOfProgram end{*undertaker};
    return *undertaker;
  }

  void Close(Closure close) {
    {
      MutexLock lock(mu_);
      // Too late: its threads go with the process.
      if (ended_) return left_.push_back(std::move(close));
      ++waiting_;
    }
    pool_.Post([this, close = std::move(close)]() mutable {
      close();
      close = nullptr;
      MutexLock lock(mu_);
      --waiting_;
      idle_.NotifyAll();
    });
  }

 private:
  struct EndOfProgram {
    Undertaker& undertaker;
    ~EndOfProgram() { undertaker.End(); }
  };

  void End() {
    {
      MutexLock lock(mu_);
      while (waiting_ > 0) idle_.Wait(mu_);
      ended_ = true;
    }
    pool_.Stop();
  }

  Mutex mu_;
  CondVar idle_;
  int waiting_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
  std::vector<Closure> left_ FLYBALL_GUARDED_BY(mu_);
  ThreadPool pool_{"client-close", 1};
};

void CloseConnections(const std::shared_ptr<IoLoop>& loop, const std::shared_ptr<ClientPool>& pool,
                      const std::shared_ptr<LiveChannels>& left) {
  loop->Post([pool, left] {
    pool->Close();
    left->CloseAll();
  });
}

class HttpClient final : public Transport {
 public:
  explicit HttpClient(std::shared_ptr<const ClientContext> context) : context_(std::move(context)) {
    if (context_->options.loop) {
      Use(context_->options.loop);
      return;
    }
    for (int i = 0; i < std::max(1, context_->options.io_threads); ++i)
      Use(std::make_shared<IoLoop>("io-client-" + std::to_string(i)));
  }

  ~HttpClient() override {
    const bool own_loops = !context_->options.loop;
    auto close = [loops = loops_, pools = pools_, left = left_, own_loops] {
      for (std::size_t i = 0; i < loops.size(); ++i) {
        CloseConnections(loops[i], pools[i], left[i]);
        if (own_loops) loops[i]->Stop();
      }
    };
    // A sink may hold the last reference to its own client; a thread cannot wait for itself.
    const bool on_own_thread =
        std::any_of(loops_.begin(), loops_.end(), [](const auto& loop) { return loop->OnThisThread(); });
    if (on_own_thread && own_loops)
      Undertaker::Get().Close(std::move(close));
    else
      close();
  }

  std::shared_ptr<Call> Start(Request request, std::shared_ptr<ResponseSink> sink) override {
    const std::size_t i = next_++ % loops_.size();
    auto call = std::make_shared<ClientCall>(loops_[i], std::move(request), std::move(sink));
    loops_[i]->Post([pool = pools_[i], call] { pool->Submit(call); });
    return call;
  }

  void OpenWebSocket(Request request, std::vector<std::string> subprotocols, WebSocketDone done) override {
    const std::size_t i = next_++ % loops_.size();
    OpenWebSocketOn(loops_[i], context_, left_[i], std::move(request), subprotocols, std::move(done));
  }

  void OpenUpgrade(Request request, UpgradeDone done) override {
    const std::size_t i = next_++ % loops_.size();
    OpenUpgradeOn(loops_[i], context_, left_[i], request, DuplexTaker(std::move(done)));
  }

 private:
  void Use(std::shared_ptr<IoLoop> loop) {
    pools_.push_back(std::make_shared<ClientPool>(loop, context_));
    left_.push_back(std::make_shared<LiveChannels>());
    loops_.push_back(std::move(loop));
  }

  const std::shared_ptr<const ClientContext> context_;
  std::vector<std::shared_ptr<IoLoop>> loops_;
  std::vector<std::shared_ptr<ClientPool>> pools_;   // one a loop
  std::vector<std::shared_ptr<LiveChannels>> left_;  // have left HTTP
  std::atomic<std::size_t> next_{0};
};

}  // namespace

Result<std::unique_ptr<Transport>> NewHttpClient(const ClientOptions& options) {
  auto context = std::make_shared<ClientContext>();
  context->options = options;
  FLYBALL_ASSIGN(context->origin, ParseOrigin(options.url));
  std::unique_ptr<Origin> proxy;
  if (!options.proxy_url.empty()) {
    FLYBALL_ASSIGN(auto parsed, ParseOrigin(options.proxy_url));
    proxy = std::make_unique<Origin>(std::move(parsed));
  }
  context->connector =
      std::make_shared<Connector>(context->origin, std::move(proxy), options.connect_timeout);
  if (context->origin.tls) {
    FLYBALL_ASSIGN(context->tls, TlsContext::ForClient(options.tls, options.http2));
    FLYBALL_ASSIGN(context->tls_http1, TlsContext::ForClient(options.tls, false));
  }
  return std::unique_ptr<Transport>(std::make_unique<HttpClient>(std::move(context)));
}

}  // namespace flyball::net
