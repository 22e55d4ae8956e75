#include "net/spdy/spdy_session.h"

#include <algorithm>

namespace flyball::net {

namespace {

// A peer that opens more than this at a time is refused: a port-forward needs two a connection.
constexpr std::size_t kMaxSpdyStreams = 2000;
// Data frames leave in pieces that fit a TLS record with their heads.
constexpr std::size_t kMaxSpdyPiece = 16000;

}  // namespace

bool SpdyStream::Write(std::string_view data) {
  const auto session = session_.lock();
  if (!session) return false;
  while (!data.empty()) {
    const std::string_view piece = data.substr(0, kMaxSpdyPiece);
    if (!session->Send(*this, piece, false)) return false;
    data.remove_prefix(piece.size());
  }
  return true;
}

void SpdyStream::End() {
  if (const auto session = session_.lock()) session->Send(*this, {}, true);
}

void SpdyStream::Reset() {
  if (const auto session = session_.lock()) session->ResetStream(*this);
}

SpdySession::SpdySession(Side side, std::shared_ptr<Duplex> connection, Events events)
    : side_(side),
      connection_(std::move(connection)),
      reader_({.control = [this](SpdyType type, std::uint8_t flags,
                                 std::string_view payload) { OnControl(type, flags, payload); },
               .data = [this](std::uint32_t id, std::string_view data, bool fin) { OnData(id, data, fin); }}),
      events_(std::move(events)),
      next_id_(side == Side::kClient ? 1 : 2) {}

std::shared_ptr<SpdySession> SpdySession::Start(Side side, std::shared_ptr<Duplex> connection,
                                                Events events) {
  std::shared_ptr<SpdySession> session(new SpdySession(side, connection, std::move(events)));
  connection->Read(
      [session](std::string_view data) {
        if (!session->broken_ && !session->reader_.Feed(data)) session->Fail();
      },
      [session] { session->OnConnectionEnd(); });
  return session;
}

SpdySession::StreamPtr SpdySession::Open(Headers headers, UniqueFunction<void(SpdyStream&)> reader) {
  MutexLock lock(mu_);
  const std::uint32_t id = next_id_;
  next_id_ += 2;
  auto stream = std::make_shared<SpdyStream>(weak_from_this(), id, headers);
  reader(*stream);
  if (closed_) return stream;
  streams_[id] = stream;
  std::string payload;
  AppendSpdyNumber(payload, id);
  AppendSpdyNumber(payload, 0);            // associated with no other stream
  payload += std::string_view("\0\0", 2);  // priority, credential slot
  payload += encoder_.Encode(headers);
  connection_->Write(MakeBytes(EncodeSpdyControl(SpdyType::kSynStream, 0, payload)));
  return stream;
}

void SpdySession::Close() {
  MutexLock lock(mu_);
  if (std::exchange(closed_, true)) return;
  connection_->Write(MakeBytes(EncodeSpdyPair(SpdyType::kGoAway, last_peer_id_, 0)));
  connection_->End();
}

bool SpdySession::Send(SpdyStream& stream, std::string_view data, bool fin) {
  MutexLock lock(mu_);
  if (closed_ || stream.ended_here_ || !streams_.contains(stream.id_)) return false;
  if (fin) stream.ended_here_ = true;
  const bool sent = connection_->Write(MakeBytes(EncodeSpdyData(stream.id_, fin, data)));
  if (stream.ended_here_ && stream.ended_there_) streams_.erase(stream.id_);
  return sent;
}

void SpdySession::ResetStream(SpdyStream& stream) {
  MutexLock lock(mu_);
  if (closed_ || streams_.erase(stream.id_) == 0) return;
  connection_->Write(MakeBytes(EncodeSpdyPair(SpdyType::kRstStream, stream.id_, kSpdyCancel)));
}

SpdySession::StreamPtr SpdySession::Find(std::uint32_t id) {
  MutexLock lock(mu_);
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second;
}

void SpdySession::OnControl(SpdyType type, std::uint8_t flags, std::string_view payload) {
  if (broken_) return;
  const bool has_id = payload.size() >= 4;
  switch (type) {
    case SpdyType::kSynStream:
      return OnSynStream(flags, payload);
    case SpdyType::kSynReply:
    case SpdyType::kHeaders: {
      // Every block moves the decompressor on, of whatever use it is.
      if (!has_id || !decoder_.Decode(payload.substr(4))) return Fail();
      if ((flags & kSpdyFin) != 0) OnData(SpdyNumber(payload, 0), {}, true);
      return;
    }
    case SpdyType::kRstStream:
      return has_id ? OnReset(SpdyNumber(payload, 0)) : Fail();
    case SpdyType::kPing: {
      if (!has_id) return Fail();
      const std::uint32_t id = SpdyNumber(payload, 0);
      // Those of our own numbering are answers.
      if ((id % 2 == 1) == (side_ == Side::kServer)) connection_->Write(MakeBytes(EncodeSpdyPing(id)));
      return;
    }
    default:
      return;  // settings, windows and goodbyes ask for nothing; what is unknown is passed over (2.2.1)
  }
}

void SpdySession::OnSynStream(std::uint8_t flags, std::string_view payload) {
  constexpr std::size_t kBeforeHeaders = 10;
  if (payload.size() < kBeforeHeaders) return Fail();
  auto headers = decoder_.Decode(payload.substr(kBeforeHeaders));
  const std::uint32_t id = SpdyNumber(payload, 0) & 0x7fffffffu;
  const bool theirs = (id % 2 == 1) == (side_ == Side::kServer);
  if (!headers || !theirs || id <= last_peer_id_) return Fail();
  last_peer_id_ = id;
  auto stream = std::make_shared<SpdyStream>(weak_from_this(), id, std::move(*headers));
  {
    MutexLock lock(mu_);
    if (closed_) return;
    if (streams_.size() >= kMaxSpdyStreams) {
      connection_->Write(MakeBytes(EncodeSpdyPair(SpdyType::kRstStream, id, kSpdyRefusedStream)));
      return;
    }
    streams_[id] = stream;
    std::string reply;
    AppendSpdyNumber(reply, id);
    reply += encoder_.Encode({});
    connection_->Write(MakeBytes(EncodeSpdyControl(SpdyType::kSynReply, 0, reply)));
  }
  events_.on_stream(stream);
  if ((flags & kSpdyFin) != 0) EndOfStream(stream);
}

void SpdySession::OnData(std::uint32_t id, std::string_view data, bool fin) {
  if (broken_) return;
  const auto stream = Find(id);
  if (!stream) return;  // reset a moment ago, or never was: nobody wants it
  if (!data.empty() && stream->on_data_) stream->on_data_(data);
  Acknowledge(*stream, data.size());
  if (fin) EndOfStream(stream);
}

void SpdySession::Acknowledge(SpdyStream& stream, std::size_t size) {
  constexpr std::uint32_t kEnough = kSpdyInitialWindow / 2;
  auto acknowledge = [&](std::uint32_t& sum, std::uint32_t id) {
    sum += static_cast<std::uint32_t>(size);
    if (sum < kEnough) return;
    connection_->Write(MakeBytes(EncodeSpdyPair(SpdyType::kWindowUpdate, id, std::exchange(sum, 0))));
  };
  acknowledge(stream.unacknowledged_, stream.id_);
  acknowledge(unacknowledged_, 0);
}

void SpdySession::EndOfStream(const StreamPtr& stream) {
  {
    MutexLock lock(mu_);
    if (std::exchange(stream->ended_there_, true)) return;
    if (stream->ended_here_) streams_.erase(stream->id_);
  }
  TellEnd(*stream);
}

void SpdySession::TellEnd(SpdyStream& stream) {
  if (auto fn = std::exchange(stream.on_end_, nullptr)) fn();
  stream.on_data_ = nullptr;  // what it owns may own the stream
}

void SpdySession::OnReset(std::uint32_t id) {
  StreamPtr stream;
  {
    MutexLock lock(mu_);
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    stream = found->second;
    streams_.erase(found);
  }
  TellEnd(*stream);
}

void SpdySession::Fail() {
  broken_ = true;
  connection_->Abort();
}

void SpdySession::OnConnectionEnd() {
  std::map<std::uint32_t, StreamPtr> streams;
  {
    MutexLock lock(mu_);
    closed_ = true;
    streams.swap(streams_);
  }
  connection_->End();
  for (const auto& [id, stream] : streams) TellEnd(*stream);
  if (auto fn = std::exchange(events_.on_close, nullptr)) fn();
  events_.on_stream = nullptr;
}

namespace {

class MessageDuplex final : public Duplex {
 public:
  explicit MessageDuplex(std::shared_ptr<WebSocket> websocket) : websocket_(std::move(websocket)) {}

  void Read(UniqueFunction<void(std::string_view)> on_data, Closure on_end) override {
    websocket_->OnMessage(
        [on_data = std::move(on_data)](WebSocket::Type, const std::string& message) { on_data(message); });
    websocket_->OnClose(std::move(on_end));
  }
  bool Write(Bytes bytes) override { return websocket_->Send(WebSocket::Type::kBinary, *bytes); }
  void End() override { websocket_->Close(kNormalClosure, ""); }
  void Abort() override { websocket_->Close(kProtocolError, ""); }
  std::size_t pending_bytes() const override { return websocket_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { websocket_->OnDrained(low, std::move(fn)); }
  void Pause() override { websocket_->Pause(); }
  void Resume() override { websocket_->Resume(); }

 private:
  static constexpr int kNormalClosure = 1000, kProtocolError = 1002;
  const std::shared_ptr<WebSocket> websocket_;
};

}  // namespace

std::shared_ptr<Duplex> DuplexOf(std::shared_ptr<WebSocket> websocket) {
  return std::make_shared<MessageDuplex>(std::move(websocket));
}

}  // namespace flyball::net
