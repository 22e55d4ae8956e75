#include "net/client/websocket_client.h"

#include <algorithm>

#include "net/tls/pki.h"
#include "net/websocket/websocket_frames.h"
#include "net/websocket/websocket_stream.h"

namespace flyball::net {

namespace {

void AskForWebSocket(Headers& headers, const std::string& key, const std::vector<std::string>& subprotocols) {
  headers.Set("upgrade", "websocket");
  headers.Set("sec-websocket-version", "13");
  headers.Set("sec-websocket-key", key);
  if (subprotocols.empty()) return;
  std::string list;
  for (const std::string& name : subprotocols) list += (list.empty() ? "" : ", ") + name;
  headers.Set("sec-websocket-protocol", std::move(list));
}

Status CheckWebSocketAnswer(const Headers& headers, const std::string& key,
                            const std::vector<std::string>& offered) {
  const std::string_view chosen = headers.Get("sec-websocket-protocol");
  const bool known = chosen.empty() || std::find(offered.begin(), offered.end(), chosen) != offered.end();
  if (known && headers.Get("sec-websocket-accept") == WebSocketAccept(key)) return {};
  return Unexpected(Error(Reason::kConnection, "the server's WebSocket handshake is wrong"));
}

}  // namespace

void OpenWebSocketOn(const std::shared_ptr<IoLoop>& loop, const std::shared_ptr<const ClientContext>& context,
                     const std::shared_ptr<LiveChannels>& channels, Request request,
                     const std::vector<std::string>& subprotocols, WebSocketDone done) {
  const std::string key = Base64Encode(RandomBytes(16));
  AskForWebSocket(request.headers, key, subprotocols);
  auto shared = std::make_shared<WebSocketDone>(std::move(done));
  UpgradeTaker taker;
  taker.accepted = [shared, key, subprotocols](
                       const Headers& headers, std::shared_ptr<IoLoop> on,
                       std::shared_ptr<ByteStream> bytes) -> Result<std::shared_ptr<ByteListener>> {
    FLYBALL_TRY(CheckWebSocketAnswer(headers, key, subprotocols));
    auto websocket =
        std::make_shared<WebSocketStream>(WebSocketStream::Side::kClient, std::move(on), std::move(bytes),
                                          std::string(headers.Get("sec-websocket-protocol")));
    (*shared)(std::shared_ptr<WebSocket>(websocket));
    return std::shared_ptr<ByteListener>(std::move(websocket));
  };
  taker.failed = [shared](const Error& error) { (*shared)(Unexpected(error)); };
  OpenUpgradeOn(loop, context, channels, request, std::move(taker));
}

}  // namespace flyball::net
