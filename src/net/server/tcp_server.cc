#include "net/server/tcp_server.h"

#include <unistd.h>

#include <atomic>
#include <unordered_set>
#include <vector>

#include "base/run/notification.h"
#include "net/io/listener.h"
#include "net/io/plain_session.h"

namespace flyball::net {

namespace {

// Confined to the loop, except the count.
struct TcpConnections : std::enable_shared_from_this<TcpConnections> {
  TcpConnections(std::shared_ptr<IoLoop> l, std::size_t limit, TcpServer::Accepted fn)
      : loop(std::move(l)), max(limit), accepted(std::move(fn)) {}

  void Accept(int fd) {
    if (closed || channels.size() >= max) {
      ::close(fd);
      return;
    }
    PlainConnection connection = PlainConnection::Make(loop, fd);
    channels.insert(connection.channel);
    open = channels.size();
    accepted(connection.duplex, connection.channel->peer_address());
    connection.Start([self = shared_from_this(), weak = std::weak_ptr(connection.channel)] {
      self->channels.erase(weak.lock());
      self->open = self->channels.size();
    });
  }

  void CloseAll() {
    closed = true;
    const std::vector<std::shared_ptr<Channel>> all(channels.begin(), channels.end());
    for (const auto& channel : all) channel->Close(Error(Reason::kCancelled, "the server is closed"));
  }

  const std::shared_ptr<IoLoop> loop;
  const std::size_t max;
  const TcpServer::Accepted accepted;
  std::unordered_set<std::shared_ptr<Channel>> channels;
  std::atomic<std::size_t> open{0};
  bool closed = false;
};

}  // namespace

struct TcpServer::State {
  std::shared_ptr<IoLoop> loop;
  std::shared_ptr<TcpConnections> connections;
  std::unique_ptr<Listener> listener;
  std::atomic<bool> closed{false};
};

TcpServer::TcpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

TcpServer::~TcpServer() {
  Close();
}

Result<std::unique_ptr<TcpServer>> TcpServer::Start(std::shared_ptr<IoLoop> loop, const std::string& address,
                                                    int port, std::size_t max_connections,
                                                    Accepted accepted) {
  auto state = std::make_unique<State>();
  state->connections = std::make_shared<TcpConnections>(loop, max_connections, std::move(accepted));
  FLYBALL_ASSIGN(state->listener,
                 Listener::Open(*loop, address, port,
                                [connections = state->connections](int fd) { connections->Accept(fd); }));
  state->loop = std::move(loop);
  return std::unique_ptr<TcpServer>(new TcpServer(std::move(state)));
}

int TcpServer::port() const {
  return state_->listener->port();
}

std::size_t TcpServer::open_connections() const {
  return state_->connections->open;
}

void TcpServer::Close() {
  if (state_->closed.exchange(true)) return;
  state_->listener->Close();
  auto done = std::make_shared<Notification<bool>>();
  state_->loop->Post([connections = state_->connections, done] {
    connections->CloseAll();
    done->Set(true);
  });
  done->Wait();
}

}  // namespace flyball::net
