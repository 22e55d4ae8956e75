#include "client/rotating_transport.h"

#include <utility>

#include "base/observe/log.h"
#include "base/run/mutex.h"

namespace flyball {
namespace {

class RotatingTransport final : public net::Transport {
 public:
  RotatingTransport(net::ClientOptions options, std::shared_ptr<TlsSource> source,
                    std::shared_ptr<net::Transport> first)
      : options_(std::move(options)), source_(std::move(source)), current_(std::move(first)) {}

  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    return Current()->Start(std::move(request), std::move(sink));
  }
  void OpenWebSocket(net::Request request, std::vector<std::string> subprotocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    Current()->OpenWebSocket(std::move(request), std::move(subprotocols), std::move(done));
  }

 private:
  // What cannot be read or used now is logged, and what we have goes on: the server is the one to refuse it.
  std::shared_ptr<net::Transport> Current() {
    auto changed = source_->Changed();
    if (!changed) log::Warning("certificates not renewed", {{"error", changed.error().ToString()}});
    std::shared_ptr<net::Transport> retired;
    MutexLock lock(mu_);
    if (!changed || !*changed) return current_;
    net::ClientOptions options = options_;
    options.tls = std::move(**changed);
    auto fresh = net::NewHttpClient(options);
    if (!fresh) {
      log::Warning("new certificates cannot be used", {{"error", fresh.error().ToString()}});
      return current_;
    }
    retired = std::exchange(previous_, std::exchange(current_, std::move(*fresh)));
    return current_;
  }

  const net::ClientOptions options_;
  const std::shared_ptr<TlsSource> source_;
  Mutex mu_;
  std::shared_ptr<net::Transport> current_ FLYBALL_GUARDED_BY(mu_);
  std::shared_ptr<net::Transport> previous_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace

Result<std::shared_ptr<net::Transport>> NewRotatingTransport(const net::ClientOptions& options,
                                                             std::shared_ptr<TlsSource> source) {
  FLYBALL_ASSIGN(std::shared_ptr<net::Transport> first, net::NewHttpClient(options));
  if (!source) return first;
  return std::shared_ptr<net::Transport>(
      std::make_shared<RotatingTransport>(options, std::move(source), std::move(first)));
}

}  // namespace flyball
