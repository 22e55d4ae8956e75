#include "net/websocket/websocket_stream.h"

#include <exception>

#include "base/observe/log.h"
#include "base/run/random.h"

namespace flyball::net {

namespace {
constexpr std::size_t kMaxMessage = 16u << 20;
// A peer that does not answer a close frame is not waited for longer.
constexpr Duration kCloseTimeout = std::chrono::seconds(5);
}  // namespace

WebSocketStream::WebSocketStream(Side side, std::shared_ptr<IoLoop> loop, std::shared_ptr<ByteStream> bytes,
                                 std::string subprotocol)
    : side_(side),
      loop_(std::move(loop)),
      bytes_(std::move(bytes)),
      subprotocol_(std::move(subprotocol)),
      reader_({side == Side::kServer, kMaxMessage},
              [this](WebSocketOpcode opcode, std::string payload) { OnFrame(opcode, std::move(payload)); }) {}

WebSocketStream::~WebSocketStream() = default;

bool WebSocketStream::SendFrame(WebSocketOpcode opcode, std::string_view payload) {
  const bool mask = side_ == Side::kClient;
  const auto key = mask ? static_cast<std::uint32_t>(Random::System().Next()) : 0;
  return bytes_->Write(MakeBytes(EncodeWebSocketFrame(opcode, payload, mask, key)));
}

bool WebSocketStream::Send(Type type, std::string message) {
  MutexLock lock(mu_);
  if (state_ != State::kOpen) return false;
  return SendFrame(type == Type::kText ? WebSocketOpcode::kText : WebSocketOpcode::kBinary, message);
}

void WebSocketStream::Close(int code, std::string_view reason) {
  {
    MutexLock lock(mu_);
    if (state_ != State::kOpen) return;
    state_ = State::kClosing;
    SendFrame(WebSocketOpcode::kClose, EncodeClosePayload(code, reason));
  }
  loop_->PostAfter(kCloseTimeout, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->bytes_->End();
  });
}

void WebSocketStream::OnMessage(UniqueFunction<void(Type, std::string)> fn) {
  // Posted even when called on the loop: the caller has not finished setting itself up.
  loop_->Post([self = shared_from_this(),
               fn = std::make_shared<UniqueFunction<void(Type, std::string)>>(std::move(fn))] {
    self->on_message_ = std::move(*fn);
    self->DeliverWaiting();
    if (self->gone()) self->on_message_ = nullptr;
  });
}

void WebSocketStream::DeliverWaiting() {
  for (;;) {
    std::pair<Type, std::string> next;
    {
      MutexLock lock(mu_);
      has_listener_ = true;
      if (waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Deliver(next.first, std::move(next.second));
  }
}

void WebSocketStream::OnClose(Closure fn) {
  {
    MutexLock lock(mu_);
    if (!gone_) {
      on_close_ = std::move(fn);
      return;
    }
  }
  loop_->Post(std::move(fn));
}

bool WebSocketStream::gone() {
  MutexLock lock(mu_);
  return gone_;
}

void WebSocketStream::OnBytes(std::string_view data) {
  if (input_over_) return;
  const int error = reader_.Feed(data);
  if (error == 0) return;
  input_over_ = true;
  Close(error, "");
  bytes_->End();
}

void WebSocketStream::OnFrame(WebSocketOpcode opcode, std::string payload) {
  if (input_over_) return;
  switch (opcode) {
    case WebSocketOpcode::kPing: {
      MutexLock lock(mu_);
      if (state_ == State::kOpen) SendFrame(WebSocketOpcode::kPong, payload);
      return;
    }
    case WebSocketOpcode::kPong:
      return;
    case WebSocketOpcode::kClose:
      return OnPeerClose(payload);
    default:
      break;
  }
  const Type type = opcode == WebSocketOpcode::kText ? Type::kText : Type::kBinary;
  {
    MutexLock lock(mu_);
    if (!has_listener_) {
      waiting_.emplace_back(type, std::move(payload));
      return;
    }
  }
  Deliver(type, std::move(payload));
}

// A listener that throws must not unwind through the protocol's C code.
void WebSocketStream::Deliver(Type type, std::string message) {
  try {
    on_message_(type, std::move(message));
  } catch (const std::exception& e) {
    log::Error("a WebSocket's listener failed", {{"what", e.what()}});
    Close(kWsInternalError, "");
  }
}

void WebSocketStream::OnPeerClose(const std::string& payload) {
  input_over_ = true;
  {
    MutexLock lock(mu_);
    if (std::exchange(state_, State::kClosed) == State::kOpen)
      SendFrame(WebSocketOpcode::kClose, payload.substr(0, 2));
  }
  bytes_->End();
}

void WebSocketStream::OnGone() {
  Closure fn;
  {
    MutexLock lock(mu_);
    if (std::exchange(gone_, true)) return;
    state_ = State::kClosed;
    fn = std::move(on_close_);
  }
  input_over_ = true;
  if (fn) loop_->Post(std::move(fn));
  // What the callbacks own must not outlive the connection; not now, for one of them may be the caller.
  loop_->Post([self = shared_from_this()] { self->on_message_ = nullptr; });
}

}  // namespace flyball::net
