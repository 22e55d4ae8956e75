// ServerStream: the answer to one request, between the handler (any thread) and the session that sends it
// (the connection's loop). Knows no protocol: a session takes the head and the bytes and frames them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run/mutex.h"
#include "net/exchange/server_context.h"
#include "net/http/gzip.h"
#include "net/http/http.h"
#include "net/io/byte_stream.h"
#include "net/io/channel.h"

namespace flyball::net {

class ServerStream final : public ResponseStream,
                           public ByteStream,
                           public Notifiable,
                           public std::enable_shared_from_this<ServerStream> {
 public:
  // What of the request matters for its answer.
  struct Traits {
    std::int32_t id = 0;  // HTTP/2's stream id
    bool accepts_gzip = false;
    bool no_body = false;         // HEAD
    bool websocket = false;       // an upgrade or extended CONNECT
    bool upgrade = false;         // an upgrade to anything, or an extended CONNECT
    std::string websocket_key{};  // HTTP/1.1's
  };
  ServerStream(std::shared_ptr<Channel> channel, std::shared_ptr<ServerContext> context, Traits traits);
  ~ServerStream() override;

  // The handler's side, from any thread.
  void Send(int status, Headers headers, std::string body) override;
  void Begin(int status, Headers headers) override;
  void BeginCompressible(int status, Headers headers) override;
  bool Write(Bytes chunk) override;
  void End() override;
  std::size_t pending_bytes() const override { return pending_.load(std::memory_order_relaxed); }
  void OnDrained(std::size_t low, Closure fn) override;
  void OnClose(Closure fn) override;
  bool closed() const override { return closed_.load(std::memory_order_acquire); }
  bool likely_gone() const override { return closed() || input_ended_.load(std::memory_order_relaxed); }
  Result<std::shared_ptr<WebSocket>> AcceptWebSocket(std::string_view subprotocol) override;
  Result<std::shared_ptr<Duplex>> AcceptUpgrade(Headers headers) override;
  void Abort() override;
  void SetPaused(bool paused) override;
  Executor& executor() override { return channel_->loop(); }

  // The handler has dropped its last reference.
  void Abandon();
  // Sends an error of ours if nothing was answered yet.
  void FailIfUnanswered(int status, std::string json);

  // The session's side, on the loop only.
  struct Head {
    int status = 0;
    Headers headers;
    bool streamed = false;  // length unknown
    bool gzip = false;      // what follows is to be compressed
  };
  // Takes over what the handler has queued since the last time. True if there is anything new.
  bool Collect();
  // The head, once, after it was collected.
  std::optional<Head> TakeHead() { return std::exchange(head_out_, std::nullopt); }
  // Collected bytes not yet taken; compresses some more if there are none.
  std::size_t available() {
    if (available_ == 0 && gzip_) Compress();
    return available_;
  }
  // Everything has been collected and compressed.
  bool ended() const { return ended_out_ && !gzip_; }
  // Abandoned without an end.
  bool aborted() const { return aborted_out_; }
  // Moves n <= available() bytes to the end of `out`.
  void Take(std::size_t n, std::string& out);
  // The peer is gone: Write says so from now on, and whoever asked is told.
  void PeerGone();
  // The peer has closed its side of the connection.
  void InputEnded() { input_ended_.store(true, std::memory_order_relaxed); }
  // The server wants to go: whoever asked with OnClose is told.
  void AnnounceClose();
  const Traits& traits() const { return traits_; }

  // A stream that has left HTTP: bytes from the peer go here, and their end. False: nothing more is to be
  // sent.
  void OnRawBytes(std::string_view data);
  bool OnRawEnd();
  // The listener does not want to be told more for now.
  bool paused() const { return paused_.load(std::memory_order_relaxed); }
  // Of what was collected, the piece that is to leave next. On a connection that has left HTTP each leaves in
  // a TLS record of its own: clients that wait for the socket would not see a second one in the same.
  std::size_t next_piece() const;

 private:
  enum class Stage { kUnanswered, kBegun, kEnded };
  struct Drain {
    std::size_t low;
    Closure fn;
  };

  // Requires mu_ just released: tells the session, unless told already.
  void NotifySession(bool needed);
  bool QueueHeadLocked(Head head) FLYBALL_REQUIRES(mu_);
  void BeginWith(Head head);
  bool NeedsNotifyLocked() FLYBALL_REQUIRES(mu_);
  void RunDrained();
  void Compress();
  Headers WebSocketHeaders(std::string_view subprotocol) const;
  // Answers the upgrade; bytes go to the listener from now on.
  Status Leave(Headers headers, std::shared_ptr<ByteListener> listener);
  std::shared_ptr<ByteListener> listener();

  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<ServerContext> context_;
  const Traits traits_;
  std::atomic<std::size_t> pending_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> input_ended_{false};
  std::atomic<bool> paused_{false};

  Mutex mu_;
  Stage stage_ FLYBALL_GUARDED_BY(mu_) = Stage::kUnanswered;
  bool aborted_ FLYBALL_GUARDED_BY(mu_) = false;
  bool notified_ FLYBALL_GUARDED_BY(mu_) = false;
  bool close_announced_ FLYBALL_GUARDED_BY(mu_) = false;
  bool upgraded_ FLYBALL_GUARDED_BY(mu_) = false;  // has left HTTP
  std::shared_ptr<ByteListener> listener_ FLYBALL_GUARDED_BY(mu_);
  std::optional<Head> head_ FLYBALL_GUARDED_BY(mu_);
  std::vector<Bytes> chunks_ FLYBALL_GUARDED_BY(mu_);
  std::vector<Drain> drains_ FLYBALL_GUARDED_BY(mu_);
  std::vector<Closure> on_close_ FLYBALL_GUARDED_BY(mu_);
  std::atomic<bool> has_drains_{false};

  // The loop's side.
  std::optional<Head> head_out_;
  std::vector<Bytes> outbox_;
  std::size_t outbox_next_ = 0;    // first chunk not wholly taken
  std::size_t outbox_offset_ = 0;  // of it
  std::size_t available_ = 0;
  bool ended_out_ = false;
  bool aborted_out_ = false;
  std::unique_ptr<GzipSource> gzip_;
};

}  // namespace flyball::net
