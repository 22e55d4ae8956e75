#include "net/client/client_pool.h"

#include <unistd.h>

#include <algorithm>

#include "net/h1/h1_client.h"
#include "net/h2/h2_client.h"

namespace flyball::net {

namespace {
// Streams a new HTTP/2 connection is expected to take, for deciding how many to open.
constexpr std::size_t kExpectedStreams = 100;
}  // namespace

ClientPool::ClientPool(std::shared_ptr<IoLoop> loop, std::shared_ptr<const ClientContext> context)
    : loop_(std::move(loop)), context_(std::move(context)) {}

ClientPool::~ClientPool() = default;

void ClientPool::Submit(std::shared_ptr<ClientCall> call) {
  if (call->ended()) return;
  if (closed_) return call->Fail(Error(Reason::kConnection, "the client is closed"));
  if (ClientConnection* connection = FindRoom()) return connection->Submit(std::move(call));
  waiting_.push_back(std::move(call));
  ConnectIfNeeded();
}

// The one used last comes first, so that superfluous ones go idle and close.
ClientConnection* ClientPool::FindRoom() {
  for (auto it = usable_.rbegin(); it != usable_.rend(); ++it)
    if (it->connection->capacity() > 0) return it->connection;
  return nullptr;
}

std::size_t ClientPool::ConnectionsWanted() const {
  if (waiting_.empty()) return 0;
  if (protocol_ == Protocol::kH1) return waiting_.size();
  return 1 + waiting_.size() / kExpectedStreams * (protocol_ == Protocol::kH2 ? 1 : 0);
}

void ClientPool::ConnectIfNeeded() {
  while (connecting_ < ConnectionsWanted()) {
    ++connecting_;
    context_->connector->Connect(
        loop_, [self = shared_from_this()](Result<int> fd) { self->OnConnected(std::move(fd)); });
  }
}

void ClientPool::OnConnected(Result<int> fd) {
  if (closed_) {
    --connecting_;
    if (fd) close(*fd);
    return;
  }
  if (!fd) return OnConnectFailed(fd.error());
  std::unique_ptr<TlsStream> tls;
  if (context_->tls) {
    auto stream = TlsStream::New(context_->tls, *fd, context_->server_name());
    if (!stream) {
      close(*fd);
      return OnConnectFailed(stream.error());
    }
    tls = std::move(*stream);
  }
  Channel::Options options;
  options.handshake_timeout = context_->options.connect_timeout;
  auto channel = std::make_shared<Channel>(loop_, *fd, options);
  channels_.push_back(channel);
  std::weak_ptr<Channel> weak = channel;
  auto ready = [self = shared_from_this(), weak] { self->OnReady(weak.lock()); };
  auto closed = [self = shared_from_this(), raw = channel.get()](const Error& error) {
    const auto has = [raw](const auto& c) { return c.get() == raw; };
    const bool was_ready = raw->has_session();
    std::erase_if(self->usable_, [raw](const Entry& e) { return e.channel.get() == raw; });
    std::erase_if(self->channels_, has);
    if (!was_ready)
      self->OnConnectFailed(error.Is(Reason::kTimeout) ? Error(Reason::kTimeout, "TLS handshake timeout")
                                                       : error);
    else
      self->ConnectIfNeeded();
  };
  channel->Start(std::move(tls), std::move(ready), std::move(closed));
}

void ClientPool::OnReady(const std::shared_ptr<Channel>& channel) {
  --connecting_;
  const bool h2 = context_->origin.h2_prior_knowledge || (channel->tls() && channel->tls()->speaks_h2());
  protocol_ = h2 ? Protocol::kH2 : Protocol::kH1;
  ClientConnection* connection = nullptr;
  if (h2) {
    auto session = std::make_unique<H2ClientSession>(*channel, context_, shared_from_this());
    connection = session.get();
    channel->SetSession(std::move(session));
  } else {
    auto session = std::make_unique<H1ClientSession>(*channel, context_, shared_from_this());
    connection = session.get();
    channel->SetSession(std::move(session));
  }
  usable_.push_back({channel, connection});
  ServeWaiting();
}

void ClientPool::OnConnectFailed(const Error& error) {
  --connecting_;
  // With HTTP/1.1 each waiting call has its own attempt; else all wait for this one.
  std::deque<std::shared_ptr<ClientCall>> failed;
  if (protocol_ == Protocol::kH1 && connecting_ > 0) {
    if (!waiting_.empty()) failed.push_back(std::move(waiting_.front())), waiting_.pop_front();
  } else {
    failed.swap(waiting_);
  }
  for (auto& call : failed) call->Fail(error);
}

void ClientPool::ServeWaiting() {
  while (!waiting_.empty()) {
    if (waiting_.front()->ended()) {
      waiting_.pop_front();
      continue;
    }
    ClientConnection* connection = FindRoom();
    if (!connection) break;
    auto call = std::move(waiting_.front());
    waiting_.pop_front();
    connection->Submit(std::move(call));
  }
  ConnectIfNeeded();
}

void ClientPool::Retry(std::shared_ptr<ClientCall> call, const Error& error) {
  if (!call->TakeRetry()) return call->Fail(error);
  call->connection = nullptr;
  // Not at once: the connection that gave it back is still taking itself apart.
  loop_->Post([self = shared_from_this(), call = std::move(call)] { self->Submit(call); });
}

void ClientPool::OnCapacity(ClientConnection&) {
  if (!closed_) ServeWaiting();
}

void ClientPool::OnGoing(ClientConnection& connection) {
  std::erase_if(usable_, [&](const Entry& e) { return e.connection == &connection; });
}

void ClientPool::Close() {
  closed_ = true;
  const Error error(Reason::kConnection, "the client is closed");
  usable_.clear();
  for (const auto& channel : std::exchange(channels_, {})) channel->Close(error);
  for (auto& call : std::exchange(waiting_, {})) call->Fail(error);
}

}  // namespace flyball::net
