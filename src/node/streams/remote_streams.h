// RemoteStreams: a client's standard streams, whatever protocol carries them (upstream: remotecommand).
//
// WebSocket: each message begins with its channel: 0 stdin, 1 stdout, 2 stderr, 3 how it ended, 4 the size of
// the terminal. `base64.` protocols write the channel as a digit and the rest in base64, as text. From v4 on
// channel 3 carries a Status; in v5 the message {255, n} ends channel n.
// SPDY/3.1: a stream each, named by its header `streamtype`: error, stdin, stdout, stderr, resize.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/run/executor.h"
#include "json/value.h"
#include "net/http/http.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Which streams there are.
struct StreamSelection {
  bool stdin = false, stdout = false, stderr = false, tty = false;
};

// What the client does. Called one at a time, on the connection's executor.
struct RemoteEvents {
  std::function<void(std::string_view data)> input;
  std::function<void()> input_end;
  std::function<void(TerminalSize size)> resize;
  // Once, last: the client has left.
  std::function<void()> gone;
};

// Thread-safe. The connection keeps it alive.
class RemoteStreams {
 public:
  virtual ~RemoteStreams() = default;
  // To be called once, where `ready` was.
  virtual void Listen(RemoteEvents events) = 0;
  // False once the client has left.
  virtual bool Write(Stream stream, std::string_view data) = 0;
  // The last word: a Status, of which old protocols send the message alone, and that only of a failure. Then
  // the connection ends.
  virtual void Finish(const json::Value& status) = 0;
  virtual std::size_t pending_bytes() const = 0;
  virtual void OnDrained(std::size_t low, Closure fn) = 0;
  virtual void PauseInput(bool paused) = 0;
};

// Accepts the upgrade and calls `ready` when every stream is there; answers the request itself if it asks for
// none of these protocols.
void OpenRemoteStreams(const net::Request& request, const std::shared_ptr<net::ResponseStream>& stream,
                       const StreamSelection& selection,
                       std::function<void(std::shared_ptr<RemoteStreams>)> ready);

// True if the request asks for SPDY/3.1, or for a WebSocket.
bool WantsSpdy(const net::Headers& headers);
bool WantsWebSocket(const net::Headers& headers);

// Of a message on the resize channel: {"Width":80,"Height":24}. Zeros if it is none.
TerminalSize ParseTerminalSize(std::string_view json);

// What the error channel says, by the protocol's age.
std::string StatusText(const json::Value& status, bool structured);

}  // namespace flyball::node
