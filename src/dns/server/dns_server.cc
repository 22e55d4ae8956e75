#include "dns/server/dns_server.h"

#include <atomic>

#include "base/run/notification.h"
#include "dns/server/tcp_conversation.h"
#include "net/io/udp_socket.h"

namespace flyball::dns {
namespace {

// "127.0.0.1:40312", "[::1]:40312".
Asker AskerOf(const std::string& peer) {
  Asker asker{.transport = Transport::kTcp};
  const std::size_t colon = peer.rfind(':');
  std::string_view text = std::string_view(peer).substr(0, colon);
  if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
  if (const auto ip = api::ParseIp(text)) asker.ip = ip->bytes;
  return asker;
}

// A port that is free for UDP may be taken for TCP; then another one is tried.
constexpr int kPortTries = 20;

}  // namespace

struct DnsServer::State {
  State(DnsServerOptions given, Random& random, Metrics& metrics)
      : options(std::move(given)),
        loop(std::make_shared<net::IoLoop>("dns")),
        zone(options.zone, random),
        forwarder(loop, random, metrics, options.forward),
        responder(std::make_shared<Responder>(zone, &forwarder, options.allow, options.udp_budget,
                                              loop->clock(), random, metrics)) {}

  Status Listen(int at) {
    port = at;
    for (const std::string& address : options.addresses) {
      FLYBALL_ASSIGN(auto socket, net::UdpSocket::Bind(*loop, address, port, Receiver(udp.size())));
      if (port == 0) port = socket->port();
      udp.push_back(std::move(socket));
      FLYBALL_ASSIGN(auto server, net::TcpServer::Start(loop, address, port, options.max_tcp_connections,
                                                        [this](const auto& connection, const auto& peer) {
                                                          Converse(connection, peer);
                                                        }));
      tcp.push_back(std::move(server));
    }
    return {};
  }

  net::UdpSocket::Receiver Receiver(std::size_t index) {
    return [this, index](std::string_view datagram, const net::UdpPath& path) {
      responder->Answer(datagram, {.ip = path.peer_ip}, [this, index, path](std::string answer) {
        udp[index]->Send(std::move(answer), path);
      });
    };
  }

  void Converse(const std::shared_ptr<net::Duplex>& connection, const std::string& peer) {
    std::make_shared<TcpConversation>(responder, *loop, connection, AskerOf(peer))->Start();
  }

  void Close() {
    for (const auto& server : tcp) server->Close();
    OnLoop([this] {
      for (const auto& socket : udp) socket->Close();
    });
    tcp.clear();
    udp.clear();
  }

  void Begin() {
    for (const auto& socket : udp) socket->Start();
    loop->Post([this] { forwarder.ProbeForLoops(); });
  }

  void OnLoop(Closure fn) {
    auto done = std::make_shared<Notification<bool>>();
    loop->Post([fn = std::move(fn), done] {
      fn();
      done->Set(true);
    });
    done->Wait();
  }

  const DnsServerOptions options;
  const std::shared_ptr<net::IoLoop> loop;
  // Confined to the loop.
  Zone zone;
  Forwarder forwarder;
  std::shared_ptr<Responder> responder;
  std::vector<std::unique_ptr<net::UdpSocket>> udp;
  std::vector<std::unique_ptr<net::TcpServer>> tcp;
  int port = 0;
  std::atomic<bool> synced{false};
};

DnsServer::DnsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<DnsServer>> DnsServer::Start(DnsServerOptions options, Random& random,
                                                    Metrics& metrics) {
  const int port = options.port;
  auto state = std::make_unique<State>(std::move(options), random, metrics);
  State* const raw = state.get();
  std::unique_ptr<DnsServer> server(new DnsServer(std::move(state)));
  Status listening = raw->Listen(port);
  for (int i = 1; !listening && port == 0 && i < kPortTries; ++i) {
    raw->Close();
    listening = raw->Listen(port);
  }
  if (!listening) return Unexpected(listening.error());
  raw->Begin();
  return server;
}

DnsServer::~DnsServer() {
  state_->Close();
  state_->loop->Stop();
}

int DnsServer::port() const {
  return state_->port;
}

void DnsServer::Change(std::function<void(Zone&)> fn) {
  state_->loop->Post([state = state_.get(), fn = std::move(fn)] {
    fn(state->zone);
    state->synced = state->zone.synced();
  });
}

bool DnsServer::synced() const {
  return state_->synced;
}

}  // namespace flyball::dns
