#include "node/streams/websocket_channels.h"

#include "net/tls/pki.h"
#include "node/streams/node_request.h"

namespace flyball::node {
namespace {

constexpr char kEndOfChannel = static_cast<char>(255);
constexpr int kNormalClosure = 1000;
// Pieces that fit a TLS record with their heads, also when written in base64.
constexpr std::size_t kMaxPiece = 12000;

// What one message says, by the protocol's encoding. False if it says nothing.
bool DecodeMessage(bool base64, const std::string& message, int& channel, std::string& data) {
  if (message.empty()) return false;
  channel = static_cast<unsigned char>(message[0]) - (base64 ? '0' : 0);
  if (!base64) {
    data = message.substr(1);
    return true;
  }
  auto decoded = net::Base64Decode(std::string_view(message).substr(1));
  if (!decoded) return false;
  data = std::move(*decoded);
  return true;
}

}  // namespace

std::shared_ptr<WebSocketChannels> WebSocketChannels::Accept(const net::Request& request,
                                                             net::ResponseStream& stream,
                                                             const std::vector<std::string_view>& known) {
  const auto offered = HeaderList(request.headers, "sec-websocket-protocol");
  const std::string_view chosen = FirstKnown(offered, known);
  if (chosen.empty() && !offered.empty()) {
    SendText(stream, 403, "unable to upgrade: unsupported WebSocket protocol");
    return nullptr;
  }
  auto socket = stream.AcceptWebSocket(chosen);
  if (!socket) {
    SendText(stream, socket.error().code(), socket.error().message());
    return nullptr;
  }
  return std::make_shared<WebSocketChannels>(std::move(*socket));
}

WebSocketChannels::WebSocketChannels(std::shared_ptr<net::WebSocket> socket)
    : socket_(std::move(socket)),
      base64_(socket_->subprotocol().find("base64") != std::string_view::npos),
      ends_channels_(socket_->subprotocol().starts_with("v5.")) {}

void WebSocketChannels::Listen(Events events) {
  auto shared = std::make_shared<Events>(std::move(events));
  socket_->OnClose([shared] { shared->gone(); });
  socket_->OnMessage(
      [shared, base64 = base64_, ends = ends_channels_](net::WebSocket::Type, const std::string& message) {
        int channel = 0;
        std::string data;
        if (ends && message.size() == 2 && message[0] == kEndOfChannel)
          return shared->end(static_cast<unsigned char>(message[1]));
        if (DecodeMessage(base64, message, channel, data) && !data.empty()) shared->data(channel, data);
      });
}

bool WebSocketChannels::Send(int channel, std::string_view data) {
  do {
    const std::string_view piece = data.substr(0, kMaxPiece);
    data.remove_prefix(piece.size());
    const bool sent =
        base64_ ? socket_->Send(net::WebSocket::Type::kText,
                                std::string(1, static_cast<char>('0' + channel)) + net::Base64Encode(piece))
                : socket_->Send(net::WebSocket::Type::kBinary,
                                std::string(1, static_cast<char>(channel)) + std::string(piece));
    if (!sent) return false;
  } while (!data.empty());
  return true;
}

void WebSocketChannels::Close() {
  socket_->Close(kNormalClosure, "");
}

}  // namespace flyball::node
