#include "node/streams/port_forward.h"

#include <charconv>
#include <functional>
#include <map>

#include "base/run/mutex.h"
#include "node/streams/node_request.h"
#include "node/streams/pod_loopback.h"
#include "node/streams/remote_streams.h"
#include "node/streams/spdy_streams.h"
#include "node/streams/websocket_channels.h"

namespace flyball::node {
namespace {

constexpr std::size_t kForwardHigh = 1u << 20;
constexpr std::size_t kForwardLow = 256u << 10;
constexpr std::string_view kTunnel = "SPDY/3.1+portforward.k8s.io";

int ParsePort(std::string_view text) {
  int port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && port > 0 && port < 65536
             ? port
             : 0;
}

// The connection to the client, which all that is forwarded shares. Thread-safe.
struct ClientSide {
  std::function<std::size_t()> pending;
  std::function<void(std::size_t low, Closure fn)> on_drained;
  std::function<void(bool paused)> pause;
  Mutex mu;
  int paused FLYBALL_GUARDED_BY(mu) = 0;  // by how many

  void Hold() {
    MutexLock lock(mu);
    if (paused++ == 0) pause(true);
  }
  void Release() {
    MutexLock lock(mu);
    if (--paused == 0) pause(false);
  }
};

// One connection to a port. Owned by the callbacks of both sides; thread-safe.
class Forwarded : public std::enable_shared_from_this<Forwarded> {
 public:
  // What the client is sent. The two ends come once each.
  struct Client {
    std::function<bool(std::string_view data)> data;
    std::function<void()> end;
    std::function<void(const std::string& text)> fail;  // and ends both
  };
  Forwarded(std::shared_ptr<ClientSide> side, Client client)
      : side_(std::move(side)), client_(std::move(client)) {}

  void Dial(const ForwardTarget& target, int port) {
    if (!target.may_forward(port)) {
      client_.fail("error forwarding port " + std::to_string(port) + " to pod " + target.description +
                   ": address not allowed: the port is the machine's, the pod does not listen there");
      return Leave();
    }
    // Nothing here may own the dialer: it cannot end on its own thread.
    auto done = [self = shared_from_this(), pod = target.description,
                 port](Result<std::shared_ptr<net::Duplex>> dialed) {
      if (dialed) return self->Connected(std::move(*dialed));
      self->client_.fail("error forwarding port " + std::to_string(port) + " to pod " + pod + ": " +
                         dialed.error().message());
      self->Leave();
    };
    if (target.network_namespace.empty()) return target.dialer->Dial(target.address, port, std::move(done));
    const auto inside = ConnectLoopback(target.network_namespace, port);
    if (!inside) return done(Unexpected(inside.error()));
    target.dialer->Adopt(*inside, std::move(done));
  }

  // From the client.
  void OnData(std::string_view data) {
    MutexLock lock(mu_);
    if (left_) return;
    if (!port_) {
      waiting_.append(data);
      if (waiting_.size() > kForwardHigh && !std::exchange(holds_, true)) side_->Hold();
      return;
    }
    port_->Write(MakeBytes(std::string(data)));
    if (port_->pending_bytes() <= kForwardHigh) return;
    side_->Hold();
    port_->OnDrained(kForwardLow, [side = side_] { side->Release(); });
  }
  void OnEnd() {
    MutexLock lock(mu_);
    ended_ = true;
    if (port_) port_->End();
  }
  // The client has left.
  void Leave() {
    MutexLock lock(mu_);
    left_ = true;
    LetGo();
    if (port_) port_->Abort();
    port_ = nullptr;
  }

 private:
  void LetGo() FLYBALL_REQUIRES(mu_) {
    if (std::exchange(holds_, false)) side_->Release();
  }
  void Connected(std::shared_ptr<net::Duplex> port) {
    {
      MutexLock lock(mu_);
      if (left_) return port->Abort();
      if (!waiting_.empty()) port->Write(MakeBytes(std::exchange(waiting_, {})));
      if (ended_) port->End();
      port_ = port;
      LetGo();
    }
    port->Read(
        [self = shared_from_this(), weak = std::weak_ptr(port)](std::string_view data) {
          const auto from = weak.lock();
          if (!self->client_.data(data)) return self->Leave();
          if (!from || self->side_->pending() <= kForwardHigh) return;
          from->Pause();
          self->side_->on_drained(kForwardLow, [from] { from->Resume(); });
        },
        [self = shared_from_this()] { self->PortEnded(); });
  }
  void PortEnded() {
    client_.end();
    MutexLock lock(mu_);
    left_ = true;
    if (port_) port_->End();
    port_ = nullptr;
  }

  const std::shared_ptr<ClientSide> side_;
  const Client client_;
  Mutex mu_;
  std::shared_ptr<net::Duplex> port_ FLYBALL_GUARDED_BY(mu_);
  std::string waiting_ FLYBALL_GUARDED_BY(mu_);  // until it is connected
  bool holds_ FLYBALL_GUARDED_BY(mu_) = false;   // the client back, because too much waits
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false, left_ FLYBALL_GUARDED_BY(mu_) = false;
};

// Confined to the connection's executor.
class SpdyForwarding : public std::enable_shared_from_this<SpdyForwarding> {
 public:
  explicit SpdyForwarding(const ForwardTarget& target) : target_(target) {}

  void Start(std::shared_ptr<net::Duplex> connection) {
    side_->pending = [connection] { return connection->pending_bytes(); };
    side_->on_drained = [connection](std::size_t low, Closure fn) {
      connection->OnDrained(low, std::move(fn));
    };
    side_->pause = [connection](bool paused) { paused ? connection->Pause() : connection->Resume(); };
    net::SpdySession::Start(
        net::SpdySession::Side::kServer, std::move(connection),
        {.on_stream = [self = shared_from_this()](auto stream) { self->OnStream(std::move(stream)); },
         .on_close = [self = shared_from_this()] { self->OnClose(); }});
  }

 private:
  // The two streams of one connection; the second is set before anybody dials.
  struct Pair {
    std::shared_ptr<net::SpdyStream> data, error;
  };
  struct Entry {
    std::shared_ptr<Pair> pair = std::make_shared<Pair>();
    std::shared_ptr<Forwarded> forwarded;
  };

  void OnStream(std::shared_ptr<net::SpdyStream> stream) {
    const std::string id(stream->headers().Get("requestid"));
    const bool data = stream->headers().Get("streamtype") == "data";
    if (!data && stream->headers().Get("streamtype") != "error") return stream->Reset();
    Entry& entry = waiting_[id];
    if (!entry.forwarded) entry.forwarded = std::make_shared<Forwarded>(side_, ClientOf(entry.pair));
    (data ? entry.pair->data : entry.pair->error) = stream;
    // What comes before the other half has waits for the connection that is yet to be made.
    if (data)
      stream->Read([forwarded = entry.forwarded](std::string_view bytes) { forwarded->OnData(bytes); },
                   [forwarded = entry.forwarded] { forwarded->OnEnd(); });
    if (!entry.pair->data || !entry.pair->error) return;
    const Entry complete = entry;
    waiting_.erase(id);
    std::erase_if(live_, [](const auto& weak) { return weak.expired(); });
    live_.push_back(complete.forwarded);
    complete.forwarded->Dial(target_, ParsePort(complete.pair->data->headers().Get("port")));
  }

  static Forwarded::Client ClientOf(const std::shared_ptr<Pair>& pair) {
    return {.data = [pair](std::string_view text) { return pair->data->Write(text); },
            .end =
                [pair] {
                  pair->data->End();
                  pair->error->End();
                },
            .fail =
                [pair](const std::string& text) {
                  pair->error->Write(text);
                  pair->error->End();
                  pair->data->End();
                }};
  }

  void OnClose() {
    waiting_.clear();
    for (const auto& weak : live_)
      if (const auto forwarded = weak.lock()) forwarded->Leave();
  }

  const ForwardTarget target_;
  const std::shared_ptr<ClientSide> side_ = std::make_shared<ClientSide>();
  std::map<std::string, Entry> waiting_;  // for their other half, by request
  std::vector<std::weak_ptr<Forwarded>> live_;
};

void ServeChannels(const net::Request& request, net::ResponseStream& stream, const ForwardTarget& target) {
  std::vector<int> ports;
  for (const std::string& list : NodeRequest(request).All("port"))
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(',', at), list.size());
      ports.push_back(ParsePort(std::string_view(list).substr(at, end - at)));
      at = end + 1;
    }
  if (ports.empty()) return SendText(stream, 400, "query parameter \"port\" is required");
  for (const int port : ports)
    if (port == 0) return SendText(stream, 400, "invalid port");
  auto channels =
      WebSocketChannels::Accept(request, stream, {"v4.channel.k8s.io", "v4.base64.channel.k8s.io"});
  if (!channels) return;
  auto side = std::make_shared<ClientSide>();
  side->pending = [channels] { return channels->pending_bytes(); };
  side->on_drained = [channels](std::size_t low, Closure fn) { channels->OnDrained(low, std::move(fn)); };
  side->pause = [channels](bool paused) { channels->PauseInput(paused); };
  auto all = std::make_shared<std::vector<std::shared_ptr<Forwarded>>>();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const int data = static_cast<int>(2 * i), error = data + 1;
    const std::string head{static_cast<char>(ports[i] & 255), static_cast<char>(ports[i] >> 8)};
    channels->Send(data, head);
    channels->Send(error, head);
    all->push_back(std::make_shared<Forwarded>(
        side, Forwarded::Client{
                  .data = [channels, data](std::string_view text) { return channels->Send(data, text); },
                  .end = [channels] { channels->Close(); },
                  .fail = [channels, error](const std::string& text) { channels->Send(error, text); }}));
  }
  channels->Listen({.data =
                        [all](int channel, std::string_view data) {
                          const auto i = static_cast<std::size_t>(channel) / 2;
                          if (channel % 2 == 0 && i < all->size()) (*all)[i]->OnData(data);
                        },
                    .end = [](int) {},
                    .gone =
                        [all] {
                          for (const auto& one : *all) one->Leave();
                        }});
  for (std::size_t i = 0; i < ports.size(); ++i) (*all)[i]->Dial(target, ports[i]);
}

}  // namespace

void ServePortForward(const net::Request& request, const std::shared_ptr<net::ResponseStream>& stream,
                      const ForwardTarget& target) {
  if (WantsSpdy(request.headers)) {
    std::string_view protocol;
    if (auto connection = AcceptSpdy(request, *stream, {"portforward.k8s.io"}, protocol))
      std::make_shared<SpdyForwarding>(target)->Start(std::move(connection));
    return;
  }
  if (!WantsWebSocket(request.headers)) return SendText(*stream, 400, "Upgrade request required");
  const auto offered = HeaderList(request.headers, "sec-websocket-protocol");
  if (FirstKnown(offered, {kTunnel}).empty()) return ServeChannels(request, *stream, target);
  auto socket = stream->AcceptWebSocket(kTunnel);
  if (!socket) return SendText(*stream, socket.error().code(), socket.error().message());
  std::make_shared<SpdyForwarding>(target)->Start(net::DuplexOf(std::move(*socket)));
}

}  // namespace flyball::node
