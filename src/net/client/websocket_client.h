// The client's side of opening a WebSocket: an upgrade whose answer is checked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/client/upgrade_client.h"

namespace flyball::net {

using WebSocketDone = UniqueFunction<void(Result<std::shared_ptr<WebSocket>>)>;

// Calls done on the loop: with the WebSocket, or the error, as OpenUpgradeOn has it.
void OpenWebSocketOn(const std::shared_ptr<IoLoop>& loop, const std::shared_ptr<const ClientContext>& context,
                     const std::shared_ptr<LiveChannels>& channels, Request request,
                     const std::vector<std::string>& subprotocols, WebSocketDone done);

}  // namespace flyball::net
