#include "server/in_process_transport.h"

#include <deque>

#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "net/tls/authorities.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

// One request: the server writes to it as a ResponseStream, the client holds it as a Call. Calls to the sink
// are made on a strand, so they come one at a time and in order, whatever thread wrote.
class InProcessCall final : public net::ResponseStream,
                            public net::Call,
                            public std::enable_shared_from_this<InProcessCall> {
 public:
  InProcessCall(Executor& executor, std::shared_ptr<net::ResponseSink> sink)
      : executor_(executor), sink_(std::move(sink)) {}

  // Dropped by the server without an end.
  ~InProcessCall() override {
    if (sink_ && !ended_) sink_->OnError(Error(Reason::kConnection, "the server gave no answer"));
  }

  void Send(int status, net::Headers headers, std::string body) override {
    Begin(status, std::move(headers));
    if (!body.empty()) Write(MakeBytes(std::move(body)));
    End();
  }

  void Begin(int status, net::Headers headers) override {
    Push({Step::kHead, status, std::move(headers), nullptr});
  }

  bool Write(Bytes chunk) override {
    {
      MutexLock lock(mu_);
      if (closed_) return false;
      pending_ += chunk->size();
    }
    Push({Step::kData, 0, {}, std::move(chunk)});
    return true;
  }

  void End() override { Push({Step::kEnd, 0, {}, nullptr}); }

  std::size_t pending_bytes() const override {
    MutexLock lock(mu_);
    return pending_;
  }

  void OnDrained(std::size_t low, Closure fn) override {
    {
      MutexLock lock(mu_);
      if (pending_ > low && !closed_) {
        drained_ = std::move(fn);
        drained_low_ = low;
        return;
      }
    }
    executor_.Post(std::move(fn));
  }

  void OnClose(Closure fn) override {
    {
      MutexLock lock(mu_);
      if (!closed_) {
        on_close_ = std::move(fn);
        return;
      }
    }
    executor_.Post(std::move(fn));
  }

  bool closed() const override {
    MutexLock lock(mu_);
    return closed_;
  }

  Result<std::shared_ptr<net::WebSocket>> AcceptWebSocket(std::string_view) override {
    return Unexpected(BadRequest("the in-process transport carries no WebSockets"));
  }

  Executor& executor() override { return executor_; }

  void Cancel() override {
    std::shared_ptr<net::ResponseSink> sink;
    {
      MutexLock lock(mu_);
      if (closed_) return;
      sink = sink_;
    }
    if (Close() && sink) sink->OnError(Error(Reason::kCancelled, "the request was cancelled"));
  }

  void Pause() override {
    MutexLock lock(mu_);
    paused_ = true;
  }

  void Resume() override {
    {
      MutexLock lock(mu_);
      paused_ = false;
    }
    Deliver();
  }

 private:
  enum class Step { kHead, kData, kEnd };
  struct Item {
    Step step;
    int status;
    net::Headers headers;
    Bytes data;
  };

  void Push(Item item) {
    {
      MutexLock lock(mu_);
      if (closed_) return;
      queue_.push_back(std::move(item));
    }
    Deliver();
  }

  // Whoever finds the queue idle empties it: one thread at a time, in order, without holding the lock during
  // calls.
  void Deliver() {
    const auto self = shared_from_this();
    for (;;) {
      Item item;
      Closure drained;
      {
        MutexLock lock(mu_);
        if (delivering_ || paused_ || queue_.empty() || closed_) return;
        delivering_ = true;
        item = std::move(queue_.front());
        queue_.pop_front();
        if (item.data) pending_ -= item.data->size();
        if (drained_ && pending_ <= drained_low_) drained = std::move(drained_);
      }
      Call(item);
      if (drained) executor_.Post(std::move(drained));
      MutexLock lock(mu_);
      delivering_ = false;
    }
  }

  void Call(const Item& item) {
    switch (item.step) {
      case Step::kHead:
        sink_->OnHead(item.status, item.headers);
        break;
      case Step::kData:
        sink_->OnData(*item.data);
        break;
      case Step::kEnd: {
        const auto sink = sink_;
        if (Close()) sink->OnEnd();
        break;
      }
    }
  }

  // True for the caller that closed it. After that nothing reaches the sink but what that caller tells it.
  bool Close() {
    Closure on_close, drained;
    {
      MutexLock lock(mu_);
      if (closed_) return false;
      closed_ = ended_ = true;
      queue_.clear();
      pending_ = 0;
      on_close = std::move(on_close_);
      drained = std::move(drained_);
    }
    if (on_close) executor_.Post(std::move(on_close));
    if (drained) executor_.Post(std::move(drained));
    return true;
  }

  Executor& executor_;
  const std::shared_ptr<net::ResponseSink> sink_;
  mutable Mutex mu_;
  std::deque<Item> queue_ FLYBALL_GUARDED_BY(mu_);
  std::size_t pending_ FLYBALL_GUARDED_BY(mu_) = 0;
  std::size_t drained_low_ FLYBALL_GUARDED_BY(mu_) = 0;
  Closure drained_ FLYBALL_GUARDED_BY(mu_), on_close_ FLYBALL_GUARDED_BY(mu_);
  bool delivering_ FLYBALL_GUARDED_BY(mu_) = false;
  bool paused_ FLYBALL_GUARDED_BY(mu_) = false;
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
  bool ended_ = false;
};

class InProcessTransport final : public net::Transport {
 public:
  InProcessTransport(net::Handler handler, Executor& executor, PeerSource peer, bool inline_start)
      : handler_(std::make_shared<net::Handler>(std::move(handler))),
        executor_(executor),
        peer_(std::move(peer)),
        inline_start_(inline_start) {}

  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    auto call = std::make_shared<InProcessCall>(executor_, std::move(sink));
    request.peer = peer_();
    auto run = [handler = handler_, shared = std::make_shared<net::Request>(std::move(request)), call] {
      Spawn((*handler)(shared, call), [](std::exception_ptr exception) {
        if (exception) log::Error("an in-process request handler failed");
      });
    };
    if (inline_start_) {
      run();
    } else {
      executor_.Post(std::move(run));
    }
    return call;
  }

  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    done(Unexpected(BadRequest("the in-process transport carries no WebSockets")));
  }

 private:
  const std::shared_ptr<net::Handler> handler_;
  Executor& executor_;
  const PeerSource peer_;
  const bool inline_start_;
};

net::Peer LocalPeer() {
  net::Peer peer;
  peer.address = "in-process:0";
  peer.tls = true;
  return peer;
}

// A certificate that is presented with each request, parsed when it changes. Thread-safe.
class PresentedCertificate {
 public:
  PresentedCertificate(std::function<std::string()> pem, const std::string& authorities_pem,
                       const Clock& clock)
      : pem_(std::move(pem)),
        authorities_(net::CertificateAuthorities::Parse(authorities_pem).value_or(nullptr)),
        clock_(clock) {}

  net::Peer Peer() {
    const std::string pem = pem_();
    MutexLock lock(mu_);
    if (pem != known_pem_) Learn(pem);
    net::Peer peer = peer_;
    peer.verified = peer.certificates && authorities_ &&
                    authorities_->VerifyClient(*peer.certificates, clock_.Now()).has_value();
    return peer;
  }

 private:
  void Learn(const std::string& pem) FLYBALL_REQUIRES(mu_) {
    known_pem_ = pem;
    peer_ = LocalPeer();
    peer_.certificates = net::PeerCertificates::Parse(pem).value_or(nullptr);
    if (!peer_.certificates) return;
    peer_.certificate_sha256 = net::CertificateFingerprint(pem).value_or("");
    peer_.common_name = peer_.certificates->common_name();
    peer_.organizations = peer_.certificates->organizations();
  }

  const std::function<std::string()> pem_;
  const std::shared_ptr<const net::CertificateAuthorities> authorities_;
  const Clock& clock_;
  Mutex mu_;
  std::string known_pem_ FLYBALL_GUARDED_BY(mu_);
  net::Peer peer_ FLYBALL_GUARDED_BY(mu_) = LocalPeer();
};

}  // namespace

PeerSource FixedPeer(const User& user) {
  net::Peer peer = LocalPeer();
  peer.verified = true;
  peer.common_name = user.name;
  peer.organizations = user.groups;
  peer.certificate_sha256 = "in-process";
  return [peer] { return peer; };
}

PeerSource CertificatePeer(std::function<std::string()> certificate_pem, const std::string& authorities_pem,
                           const Clock& clock) {
  return [presented = std::make_shared<PresentedCertificate>(
              std::move(certificate_pem), std::move(authorities_pem), clock)] { return presented->Peer(); };
}

std::unique_ptr<net::Transport> NewInProcessTransport(net::Handler handler, Executor& executor,
                                                      PeerSource peer, bool inline_start) {
  return std::make_unique<InProcessTransport>(std::move(handler), executor, std::move(peer), inline_start);
}

}  // namespace flyball::server
