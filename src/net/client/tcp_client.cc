#include "net/client/tcp_client.h"

#include "net/io/connector.h"
#include "net/io/live_channels.h"
#include "net/io/plain_session.h"

namespace flyball::net {

namespace {

using DialDone = UniqueFunction<void(Result<std::shared_ptr<Duplex>>)>;

void OnDialed(const std::shared_ptr<IoLoop>& loop, LiveChannels& channels, Result<int> fd,
              const DialDone& done) {
  if (!fd) return done(Unexpected(fd.error()));
  PlainConnection connection = PlainConnection::Make(loop, *fd);
  channels.Add(connection.channel);
  connection.Start([] {});
  done(std::move(connection.duplex));
}

}  // namespace

struct TcpDialer::State {
  State(Duration t, std::shared_ptr<IoLoop> given)
      : timeout(t), own_loop(given == nullptr), loop(std::move(given)) {}
  const Duration timeout;
  const bool own_loop;
  Mutex mu;
  std::shared_ptr<IoLoop> loop FLYBALL_GUARDED_BY(mu);
  const std::shared_ptr<LiveChannels> channels = std::make_shared<LiveChannels>();

  std::shared_ptr<IoLoop> Loop() {
    MutexLock lock(mu);
    if (!loop) loop = std::make_shared<IoLoop>("io-dial");
    return loop;
  }
};

TcpDialer::TcpDialer(Duration timeout, std::shared_ptr<IoLoop> loop)
    : state_(std::make_unique<State>(timeout, std::move(loop))) {}

TcpDialer::~TcpDialer() {
  MutexLock lock(state_->mu);
  if (!state_->loop) return;
  state_->loop->Post([channels = state_->channels] { channels->CloseAll(); });
  if (state_->own_loop) state_->loop->Stop();
}

void TcpDialer::Dial(const std::string& host, int port, DialDone done) {
  Origin origin;
  origin.host = host;
  origin.port = port;
  const auto loop = state_->Loop();
  auto connector = std::make_shared<Connector>(std::move(origin), nullptr, state_->timeout);
  auto shared = std::make_shared<DialDone>(std::move(done));
  // Held until it has connected.
  connector->Connect(loop, [connector, loop, channels = state_->channels, shared](Result<int> fd) {
    OnDialed(loop, *channels, std::move(fd), *shared);
  });
}

void TcpDialer::Adopt(int fd, DialDone done) {
  const auto loop = state_->Loop();
  auto shared = std::make_shared<DialDone>(std::move(done));
  loop->Post([loop, fd, channels = state_->channels, shared] { OnDialed(loop, *channels, fd, *shared); });
}

}  // namespace flyball::net
