// SpdySession: SPDY/3.1 on a Duplex, for exec, attach and port-forward: streams with headers, both ways.
//
// Caveat: Kubernetes' own implementation (spdystream) has no flow control: it never updates a window. So what
// a peer's window says is not honoured in sending; the connection underneath slows both sides down instead.
// Windows are updated for peers that wait for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/run/mutex.h"
#include "net/http/http.h"
#include "net/spdy/spdy_frames.h"

namespace flyball::net {

class SpdySession;

// One stream. Writing is thread-safe; callbacks come on the connection's executor.
class SpdyStream {
 public:
  SpdyStream(std::weak_ptr<SpdySession> session, std::uint32_t id, Headers headers)
      : session_(std::move(session)), id_(id), headers_(std::move(headers)) {}

  const Headers& headers() const { return headers_; }
  // To be called where the stream was given: before anything of it has come. `on_end` comes once: the peer
  // has ended its side or reset the stream, or is gone.
  void Read(UniqueFunction<void(std::string_view)> on_data, Closure on_end) {
    on_data_ = std::move(on_data);
    on_end_ = std::move(on_end);
  }
  // False once the stream is over.
  bool Write(std::string_view data);
  // Ends this side.
  void End();
  void Reset();

 private:
  friend class SpdySession;
  const std::weak_ptr<SpdySession> session_;
  const std::uint32_t id_;
  const Headers headers_;
  // Guarded by the session's lock.
  bool ended_here_ = false, ended_there_ = false;
  // Confined to the connection's executor.
  std::uint32_t unacknowledged_ = 0;
  UniqueFunction<void(std::string_view)> on_data_;
  Closure on_end_;
};

// Thread-safe. The connection keeps it alive; whoever has it closes it.
class SpdySession : public std::enable_shared_from_this<SpdySession> {
 public:
  enum class Side { kServer, kClient };
  struct Events {
    // A stream of the peer's; it has been accepted. Call its Read here.
    UniqueFunction<void(std::shared_ptr<SpdyStream>)> on_stream;
    // Once; the connection is over, and so are all streams.
    Closure on_close;
  };
  static std::shared_ptr<SpdySession> Start(Side side, std::shared_ptr<Duplex> connection, Events events);

  // A stream of ours. `reader` gives it its callbacks, before anything of it can come.
  std::shared_ptr<SpdyStream> Open(Headers headers, UniqueFunction<void(SpdyStream&)> reader);

  // Of the whole connection.
  std::size_t pending_bytes() const { return connection_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) { connection_->OnDrained(low, std::move(fn)); }
  void Pause() { connection_->Pause(); }
  void Resume() { connection_->Resume(); }
  // Sends what is queued, says goodbye, ends the connection.
  void Close();

 private:
  friend class SpdyStream;
  using StreamPtr = std::shared_ptr<SpdyStream>;
  SpdySession(Side side, std::shared_ptr<Duplex> connection, Events events);

  void OnControl(SpdyType type, std::uint8_t flags, std::string_view payload);
  void OnSynStream(std::uint8_t flags, std::string_view payload);
  void OnData(std::uint32_t id, std::string_view data, bool fin);
  void OnReset(std::uint32_t id);
  void OnConnectionEnd();
  void Acknowledge(SpdyStream& stream, std::size_t size);
  void EndOfStream(const StreamPtr& stream);
  static void TellEnd(SpdyStream& stream);
  void Fail();
  StreamPtr Find(std::uint32_t id);
  bool Send(SpdyStream& stream, std::string_view data, bool fin);
  void ResetStream(SpdyStream& stream);

  const Side side_;
  const std::shared_ptr<Duplex> connection_;
  SpdyReader reader_;
  SpdyHeaderDecoder decoder_;
  Events events_;  // confined to the executor
  std::uint32_t last_peer_id_ = 0, unacknowledged_ = 0;
  bool broken_ = false;

  Mutex mu_;
  SpdyHeaderEncoder encoder_ FLYBALL_GUARDED_BY(mu_);  // frames leave in the order they are compressed
  std::map<std::uint32_t, StreamPtr> streams_ FLYBALL_GUARDED_BY(mu_);
  std::uint32_t next_id_ FLYBALL_GUARDED_BY(mu_);
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
};

// A WebSocket whose binary messages are pieces of a stream of bytes (SPDY tunnelled by kubectl's
// port-forward).
std::shared_ptr<Duplex> DuplexOf(std::shared_ptr<WebSocket> websocket);

}  // namespace flyball::net
