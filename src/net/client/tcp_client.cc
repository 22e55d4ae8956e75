#include "net/client/tcp_client.h"

#include "net/io/connector.h"
#include "net/io/live_channels.h"
#include "net/io/outbox.h"
#include "net/io/raw_duplex.h"

namespace flyball::net {

namespace {

// Bytes as they are, both ways, each with an end of its own.
class PlainSession final : public Session {
 public:
  PlainSession(std::shared_ptr<Outbox> outbox, std::shared_ptr<ByteListener> listener)
      : outbox_(std::move(outbox)), listener_(std::move(listener)) {}

  void OnBytes(std::string_view data) override { listener_->OnBytes(data); }
  void OnEndOfInput() override {
    input_over_ = true;
    listener_->OnEndOfBytes();
  }
  void Fill(std::string& out, std::size_t) override {
    if (!output_over_) output_over_ = outbox_->Take(out);
  }
  void OnNotified(Notifiable&) override {}
  bool WantsBytes() const override { return !outbox_->paused(); }
  bool OutputOver() const override { return output_over_; }
  bool Finished() const override { return input_over_ && output_over_; }
  SteadyTime Deadline() const override { return SteadyTime::max(); }
  void OnDeadline(SteadyTime) override {}
  void OnClosed(const Error&) override {
    outbox_->Close();
    listener_->OnGone();
  }

 private:
  const std::shared_ptr<Outbox> outbox_;
  const std::shared_ptr<ByteListener> listener_;
  bool input_over_ = false, output_over_ = false;
};

using DialDone = UniqueFunction<void(Result<std::shared_ptr<Duplex>>)>;

void OnDialed(const std::shared_ptr<IoLoop>& loop, LiveChannels& channels, Result<int> fd,
              const DialDone& done) {
  if (!fd) return done(Unexpected(fd.error()));
  auto channel = std::make_shared<Channel>(loop, *fd, Channel::Options{});
  channels.Add(channel);
  auto outbox = std::make_shared<Outbox>(channel);
  auto duplex = std::make_shared<RawDuplex>(loop, outbox);
  Channel* raw = channel.get();
  channel->Start(
      nullptr, [raw, outbox, duplex] { raw->SetSession(std::make_unique<PlainSession>(outbox, duplex)); },
      [](const Error&) {});
  done(std::shared_ptr<Duplex>(std::move(duplex)));
}

}  // namespace

struct TcpDialer::State {
  explicit State(Duration t) : timeout(t) {}
  const Duration timeout;
  Mutex mu;
  std::shared_ptr<IoLoop> loop FLYBALL_GUARDED_BY(mu);
  const std::shared_ptr<LiveChannels> channels = std::make_shared<LiveChannels>();

  std::shared_ptr<IoLoop> Loop() {
    MutexLock lock(mu);
    if (!loop) loop = std::make_shared<IoLoop>("io-dial");
    return loop;
  }
};

TcpDialer::TcpDialer(Duration timeout) : state_(std::make_unique<State>(timeout)) {}

TcpDialer::~TcpDialer() {
  MutexLock lock(state_->mu);
  if (!state_->loop) return;
  state_->loop->Post([channels = state_->channels] { channels->CloseAll(); });
  state_->loop->Stop();
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

}  // namespace flyball::net
