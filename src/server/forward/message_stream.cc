#include "server/forward/message_stream.h"

#include <utility>

#include "base/values/ascii.h"
#include "net/tls/pki.h"
#include "server/auth/bearer_token.h"

namespace flyball::server {
namespace {

constexpr std::string_view kBinary = "binary.k8s.io", kBase64 = "base64.binary.k8s.io";
constexpr int kNormalClosure = 1000;

bool IsSuccess(int status) {
  return status >= 200 && status < 300;
}

// Calls the function unless that was done before.
Closure OnceOf(const std::shared_ptr<Closure>& fn) {
  return [fn] {
    if (Closure told = std::exchange(*fn, nullptr)) told();
  };
}

}  // namespace

MessageStream::MessageStream(std::shared_ptr<net::ResponseStream> stream, const net::Request& request)
    : stream_(std::move(stream)) {
  const std::string offered = WithoutTokens(request.headers.Get("sec-websocket-protocol"));
  for (const std::string& word : SplitText(offered, ',')) {
    const auto protocol = Trimmed(word);
    if (protocol != kBinary && protocol != kBase64) continue;
    protocol_ = protocol;
    base64_ = protocol == kBase64;
    return;
  }
}

void MessageStream::Send(int status, net::Headers headers, std::string body) {
  if (!IsSuccess(status)) return stream_->Send(status, std::move(headers), std::move(body));
  Begin(status, std::move(headers));
  Write(std::make_shared<const std::string>(std::move(body)));
  End();
}

void MessageStream::Begin(int status, net::Headers headers) {
  if (!IsSuccess(status)) return stream_->Begin(status, std::move(headers));
  auto accepted = stream_->AcceptWebSocket(protocol_);
  if (!accepted) return stream_->Send(400, {}, accepted.error().message());
  socket_ = std::move(*accepted);
  socket_->OnMessage([](net::WebSocket::Type, const std::string&) {});  // the client has nothing to say
  if (closed_) socket_->OnClose(OnceOf(closed_));
}

bool MessageStream::Write(Bytes chunk) {
  if (!socket_) return stream_->Write(std::move(chunk));
  if (chunk->empty()) return true;
  if (base64_) return socket_->Send(net::WebSocket::Type::kText, net::Base64Encode(*chunk));
  return socket_->Send(net::WebSocket::Type::kBinary, *chunk);
}

void MessageStream::End() {
  if (socket_) return socket_->Close(kNormalClosure, "");
  stream_->End();
}

std::size_t MessageStream::pending_bytes() const {
  return socket_ ? socket_->pending_bytes() : stream_->pending_bytes();
}

void MessageStream::OnDrained(std::size_t low, Closure fn) {
  if (socket_) return socket_->OnDrained(low, std::move(fn));
  stream_->OnDrained(low, std::move(fn));
}

void MessageStream::OnClose(Closure fn) {
  if (socket_) return socket_->OnClose(std::move(fn));
  // Once, whichever of the two ends first.
  closed_ = std::make_shared<Closure>(std::move(fn));
  stream_->OnClose(OnceOf(closed_));
}

}  // namespace flyball::server
