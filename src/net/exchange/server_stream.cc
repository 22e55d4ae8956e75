#include "net/exchange/server_stream.h"

#include <algorithm>

#include "net/io/raw_duplex.h"
#include "net/websocket/websocket_stream.h"

namespace flyball::net {

namespace {

void SayGzip(Headers& headers) {
  headers.Set("content-encoding", "gzip");
  headers.Add("vary", "Accept-Encoding");
  headers.Remove("content-length");
}

}  // namespace

ServerStream::ServerStream(std::shared_ptr<Channel> channel, std::shared_ptr<ServerContext> context,
                           Traits traits)
    : channel_(std::move(channel)), context_(std::move(context)), traits_(std::move(traits)) {}

ServerStream::~ServerStream() = default;

bool ServerStream::NeedsNotifyLocked() {
  return !std::exchange(notified_, true);
}

void ServerStream::NotifySession(bool needed) {
  if (needed) channel_->Notify(shared_from_this());
}

bool ServerStream::QueueHeadLocked(Head head) {
  if (stage_ != Stage::kUnanswered || aborted_) return false;
  head_.emplace(std::move(head));
  stage_ = Stage::kBegun;
  return true;
}

void ServerStream::Send(int status, Headers headers, std::string body) {
  const bool gzip = traits_.accepts_gzip && !traits_.no_body &&
                    body.size() >= context_->limits.gzip_threshold && !headers.Has("content-encoding");
  if (gzip) {
    SayGzip(headers);
  } else if (status >= 200 && status != 204 && status != 304) {
    headers.Set("content-length", std::to_string(body.size()));
  }
  bool notify = false;
  {
    MutexLock lock(mu_);
    if (!QueueHeadLocked({status, std::move(headers), gzip, gzip})) return;
    stage_ = Stage::kEnded;
    if (!body.empty() && !traits_.no_body && !closed()) {
      pending_.fetch_add(body.size(), std::memory_order_relaxed);
      chunks_.push_back(MakeBytes(std::move(body)));
    }
    notify = NeedsNotifyLocked();
  }
  NotifySession(notify);
}

void ServerStream::Begin(int status, Headers headers) {
  BeginWith({status, std::move(headers), true, false});
}

void ServerStream::BeginCompressible(int status, Headers headers) {
  const bool gzip = traits_.accepts_gzip && !traits_.no_body;
  if (gzip) SayGzip(headers);
  BeginWith({status, std::move(headers), true, gzip});
}

void ServerStream::BeginWith(Head head) {
  bool notify = false;
  {
    MutexLock lock(mu_);
    if (!QueueHeadLocked(std::move(head))) return;
    notify = NeedsNotifyLocked();
  }
  NotifySession(notify);
}

bool ServerStream::Write(Bytes chunk) {
  bool notify = false;
  {
    MutexLock lock(mu_);
    if (closed() || stage_ != Stage::kBegun) return false;
    if (chunk->empty() || traits_.no_body) return true;
    pending_.fetch_add(chunk->size(), std::memory_order_relaxed);
    chunks_.push_back(std::move(chunk));
    notify = NeedsNotifyLocked();
  }
  NotifySession(notify);
  return true;
}

void ServerStream::End() {
  bool notify = false;
  std::vector<Closure> dropped;
  {
    MutexLock lock(mu_);
    if (stage_ != Stage::kBegun) return;
    stage_ = Stage::kEnded;
    dropped.swap(on_close_);
    notify = NeedsNotifyLocked();
  }
  NotifySession(notify);
}

void ServerStream::Abandon() {
  bool notify = false;
  std::vector<Closure> dropped;
  {
    MutexLock lock(mu_);
    if (upgraded_) return;  // its listener has taken over
    dropped.swap(on_close_);
    if (stage_ == Stage::kEnded || closed()) return;
    aborted_ = true;
    notify = NeedsNotifyLocked();
  }
  NotifySession(notify);
}

void ServerStream::FailIfUnanswered(int status, std::string json) {
  Send(status, Headers{{"content-type", "application/json"}}, std::move(json));
  Abandon();
}

void ServerStream::OnDrained(std::size_t low, Closure fn) {
  {
    MutexLock lock(mu_);
    if (!closed() && pending_bytes() > low) {
      drains_.push_back({low, std::move(fn)});
      has_drains_.store(true, std::memory_order_relaxed);
      return;
    }
  }
  channel_->loop().Post(std::move(fn));
}

void ServerStream::OnClose(Closure fn) {
  {
    MutexLock lock(mu_);
    if (!closed() && !close_announced_) {
      on_close_.push_back(std::move(fn));
      return;
    }
  }
  channel_->loop().Post(std::move(fn));
}

bool ServerStream::Collect() {
  MutexLock lock(mu_);
  if (!std::exchange(notified_, false)) return false;
  if (head_) {
    head_out_ = std::exchange(head_, std::nullopt);
    if (head_out_->gzip) gzip_ = std::make_unique<GzipSource>();
  }
  if (gzip_) {
    for (auto& chunk : chunks_) gzip_->Add(std::move(chunk));
    chunks_.clear();
    if (stage_ == Stage::kEnded) gzip_->Finish();
  }
  for (const auto& chunk : chunks_) available_ += chunk->size();
  if (outbox_next_ == outbox_.size()) {
    outbox_.clear();
    outbox_next_ = 0;
    outbox_.swap(chunks_);
  } else {
    std::move(chunks_.begin(), chunks_.end(), std::back_inserter(outbox_));
    chunks_.clear();
  }
  ended_out_ = stage_ == Stage::kEnded;
  aborted_out_ = aborted_ && !ended_out_;
  return true;
}

void ServerStream::Compress() {
  const std::size_t before = gzip_->input_left();
  Bytes piece = MakeBytes(gzip_->Next());
  pending_.fetch_add(piece->size(), std::memory_order_relaxed);
  pending_.fetch_sub(before - gzip_->input_left(), std::memory_order_relaxed);
  if (gzip_->done()) gzip_ = nullptr;
  outbox_.clear();
  outbox_next_ = outbox_offset_ = 0;
  // Nothing may have come of what there was; whoever waits for room is told all the same.
  if (piece->empty() && has_drains_.load(std::memory_order_relaxed)) RunDrained();
  if (piece->empty()) return;
  available_ += piece->size();
  outbox_.push_back(std::move(piece));
}

void ServerStream::Take(std::size_t n, std::string& out) {
  available_ -= n;
  for (std::size_t left = n; left > 0;) {
    Bytes& chunk = outbox_[outbox_next_];
    const std::size_t part = std::min(left, chunk->size() - outbox_offset_);
    out.append(*chunk, outbox_offset_, part);
    outbox_offset_ += part;
    left -= part;
    if (outbox_offset_ < chunk->size()) break;
    chunk = nullptr;
    ++outbox_next_;
    outbox_offset_ = 0;
  }
  pending_.fetch_sub(n, std::memory_order_relaxed);
  if (has_drains_.load(std::memory_order_relaxed)) RunDrained();
}

void ServerStream::RunDrained() {
  std::vector<Closure> due;
  {
    MutexLock lock(mu_);
    const std::size_t pending = closed() ? 0 : pending_bytes();
    std::erase_if(drains_, [&](Drain& drain) {
      if (drain.low < pending) return false;
      due.push_back(std::move(drain.fn));
      return true;
    });
    has_drains_.store(!drains_.empty(), std::memory_order_relaxed);
  }
  for (auto& fn : due) channel_->loop().Post(std::move(fn));
}

void ServerStream::AnnounceClose() {
  std::vector<Closure> listeners;
  {
    MutexLock lock(mu_);
    close_announced_ = true;
    listeners.swap(on_close_);
  }
  for (auto& fn : listeners) channel_->loop().Post(std::move(fn));
}

void ServerStream::PeerGone() {
  std::shared_ptr<ByteListener> listener;
  {
    MutexLock lock(mu_);
    if (closed_.exchange(true)) return;
    listener.swap(listener_);
    chunks_.clear();
    outbox_.clear();
    outbox_next_ = outbox_offset_ = available_ = 0;
    pending_.store(0, std::memory_order_relaxed);
  }
  gzip_ = nullptr;
  AnnounceClose();
  RunDrained();
  if (listener) listener->OnGone();
}

Headers ServerStream::WebSocketHeaders(std::string_view subprotocol) const {
  Headers headers;
  if (traits_.id == 0) {
    headers.Add("upgrade", "websocket");
    headers.Add("connection", "Upgrade");
    headers.Add("sec-websocket-accept", WebSocketAccept(traits_.websocket_key));
  }
  if (!subprotocol.empty()) headers.Add("sec-websocket-protocol", std::string(subprotocol));
  return headers;
}

Status ServerStream::Leave(Headers headers, std::shared_ptr<ByteListener> listener) {
  bool notify = false;
  {
    MutexLock lock(mu_);
    if (closed()) return Unexpected(Error(Reason::kConnection, "the peer is gone"));
    if (!QueueHeadLocked({traits_.id == 0 ? 101 : 200, std::move(headers), true, false}))
      return Unexpected(InternalError("the request was answered already"));
    upgraded_ = true;
    listener_ = std::move(listener);
    notify = NeedsNotifyLocked();
  }
  NotifySession(notify);
  return {};
}

Result<std::shared_ptr<WebSocket>> ServerStream::AcceptWebSocket(std::string_view subprotocol) {
  if (!traits_.websocket) return Unexpected(BadRequest("the request is not a WebSocket upgrade"));
  auto websocket = std::make_shared<WebSocketStream>(WebSocketStream::Side::kServer, channel_->shared_loop(),
                                                     shared_from_this(), std::string(subprotocol));
  FLYBALL_TRY(Leave(WebSocketHeaders(subprotocol), websocket));
  OnClose([weak = std::weak_ptr(websocket)] {
    if (auto w = weak.lock()) w->Close(kWsGoingAway, "the server is shutting down");
  });
  return std::shared_ptr<WebSocket>(std::move(websocket));
}

Result<std::shared_ptr<Duplex>> ServerStream::AcceptUpgrade(Headers headers) {
  if (!traits_.upgrade) return Unexpected(BadRequest("the request is not an upgrade"));
  if (traits_.id != 0) headers.Remove("sec-websocket-accept");
  auto duplex = std::make_shared<RawDuplex>(channel_->shared_loop(), shared_from_this());
  FLYBALL_TRY(Leave(std::move(headers), duplex));
  // The server wants to go: whoever reads is told that nothing more comes.
  OnClose([weak = std::weak_ptr(duplex)] {
    if (auto d = weak.lock()) d->OnEndOfBytes();
  });
  return std::shared_ptr<Duplex>(std::move(duplex));
}

void ServerStream::Abort() {
  if (traits_.id != 0) return End();  // the connection is shared with others
  channel_->loop().Post(
      [channel = channel_] { channel->Close(Error(Reason::kCancelled, "the connection was given up")); });
}

void ServerStream::SetPaused(bool paused) {
  if (paused_.exchange(paused) != paused && !paused) channel_->Notify(shared_from_this());
}

std::size_t ServerStream::next_piece() const {
  return outbox_next_ < outbox_.size() ? outbox_[outbox_next_]->size() - outbox_offset_ : 0;
}

std::shared_ptr<ByteListener> ServerStream::listener() {
  MutexLock lock(mu_);
  return listener_;
}

// A reference of its own: what comes may end the stream.
void ServerStream::OnRawBytes(std::string_view data) {
  if (const auto to = listener()) to->OnBytes(data);
}

bool ServerStream::OnRawEnd() {
  const auto to = listener();
  return to && to->OnEndOfBytes();
}

}  // namespace flyball::net
