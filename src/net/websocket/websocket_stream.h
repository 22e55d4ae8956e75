// WebSocketStream: a WebSocket over any stream of bytes: an upgraded HTTP/1.1 connection, or a stream of
// HTTP/2.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "base/run/mutex.h"
#include "net/http/http.h"
#include "net/io/byte_stream.h"
#include "net/io/io_loop.h"
#include "net/websocket/websocket_frames.h"

namespace flyball::net {

// Flow: kOpen -> (Close here: kClosing -> the peer's close frame, or a time-out) or (the peer's close frame,
// answered)
// -> kClosed. The connection keeps it alive until then.
// Messages that come before OnMessage was called wait for it.
class WebSocketStream final : public WebSocket,
                              public ByteListener,
                              public std::enable_shared_from_this<WebSocketStream> {
 public:
  enum class Side { kServer, kClient };
  WebSocketStream(Side side, std::shared_ptr<IoLoop> loop, std::shared_ptr<ByteStream> bytes,
                  std::string subprotocol);
  ~WebSocketStream() override;

  void OnMessage(UniqueFunction<void(Type, std::string)> fn) override;
  void OnClose(Closure fn) override;
  bool Send(Type type, std::string message) override;
  std::size_t pending_bytes() const override { return bytes_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { bytes_->OnDrained(low, std::move(fn)); }
  void Pause() override { bytes_->SetPaused(true); }
  void Resume() override { bytes_->SetPaused(false); }
  void Close(int code, std::string_view reason) override;
  std::string_view subprotocol() const override { return subprotocol_; }

  void OnBytes(std::string_view data) override;
  // Without a close frame there is nobody left to talk to.
  bool OnEndOfBytes() override { return false; }
  void OnGone() override;

 private:
  enum class State { kOpen, kClosing, kClosed };

  void OnFrame(WebSocketOpcode opcode, std::string payload);
  void OnPeerClose(const std::string& payload);
  void DeliverWaiting();
  bool gone();
  void Deliver(Type type, std::string message);
  bool SendFrame(WebSocketOpcode opcode, std::string_view payload) FLYBALL_REQUIRES(mu_);

  const Side side_;
  const std::shared_ptr<IoLoop> loop_;
  const std::shared_ptr<ByteStream> bytes_;
  const std::string subprotocol_;
  WebSocketReader reader_;
  bool input_over_ = false;

  Mutex mu_;
  State state_ FLYBALL_GUARDED_BY(mu_) = State::kOpen;
  std::deque<std::pair<Type, std::string>> waiting_ FLYBALL_GUARDED_BY(mu_);
  bool has_listener_ FLYBALL_GUARDED_BY(mu_) = false;
  bool gone_ FLYBALL_GUARDED_BY(mu_) = false;
  Closure on_close_ FLYBALL_GUARDED_BY(mu_);
  UniqueFunction<void(Type, std::string)> on_message_;  // set once, then used on the loop only
};

}  // namespace flyball::net
