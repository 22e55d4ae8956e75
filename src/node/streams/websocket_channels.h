// WebSocketChannels: numbered channels in the messages of one WebSocket (upstream: wsstream).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/http.h"

namespace flyball::node {

// Thread-safe. The WebSocket keeps it alive.
class WebSocketChannels {
 public:
  // On the connection's executor, one at a time.
  struct Events {
    std::function<void(int channel, std::string_view data)> data;
    std::function<void(int channel)> end;  // v5 only
    std::function<void()> gone;            // once, last
  };

  // Takes the first of the client's protocols that is among `known`; or none, if it names none. Answers the
  // request itself and returns null if it cannot be accepted.
  static std::shared_ptr<WebSocketChannels> Accept(const net::Request& request, net::ResponseStream& stream,
                                                   const std::vector<std::string_view>& known);
  explicit WebSocketChannels(std::shared_ptr<net::WebSocket> socket);

  void Listen(Events events);
  // False once the client has left.
  bool Send(int channel, std::string_view data);
  void Close();
  std::string_view protocol() const { return socket_->subprotocol(); }
  std::size_t pending_bytes() const { return socket_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) { socket_->OnDrained(low, std::move(fn)); }
  void PauseInput(bool paused) { paused ? socket_->Pause() : socket_->Resume(); }

 private:
  const std::shared_ptr<net::WebSocket> socket_;
  const bool base64_, ends_channels_;
};

}  // namespace flyball::node
