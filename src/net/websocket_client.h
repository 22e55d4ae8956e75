// The client's side of opening a WebSocket: an HTTP/1.1 connection of its own, upgraded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/client_pool.h"
#include "net/http.h"
#include "net/io_loop.h"

namespace flyball::net {

using WebSocketDone = UniqueFunction<void(Result<std::shared_ptr<WebSocket>>)>;

// Closes the WebSockets of a client that go on when it is destroyed. Confined to the loop.
class WebSocketChannels {
 public:
  void Add(const std::shared_ptr<Channel>& channel);
  void CloseAll();

 private:
  std::vector<std::weak_ptr<Channel>> channels_;
};

// Calls done on the loop: with the WebSocket, or the error. An answer other than 101 gives an Error with its
// status as code and its body as message.
void OpenWebSocketOn(const std::shared_ptr<IoLoop>& loop, const std::shared_ptr<const ClientContext>& context,
                     const std::shared_ptr<WebSocketChannels>& channels, Request request,
                     std::vector<std::string> subprotocols, WebSocketDone done);

}  // namespace flyball::net
