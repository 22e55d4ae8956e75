#include "node/streams/remote_streams.h"

#include <algorithm>

#include "base/values/ascii.h"
#include "json/json.h"
#include "node/streams/node_request.h"
#include "node/streams/spdy_streams.h"
#include "node/streams/websocket_channels.h"

namespace flyball::node {
namespace {

bool AsksFor(const net::Headers& headers, std::string_view protocol) {
  for (const std::string& word : HeaderList(headers, "upgrade"))
    if (LowerCase(word) == protocol) return true;
  return false;
}

// kubectl begins to read a WebSocket before it has made its streams, and throws away what comes for one it
// does not know yet: a command that answers within a fraction of a millisecond lost its first words, one run
// in some hundreds. So the command starts a little after the connection stands.
constexpr Duration kClientSetsUp = std::chrono::milliseconds(25);

enum Channel : unsigned char { kStdin = 0, kStdout = 1, kStderr = 2, kError = 3, kResize = 4 };

class WebSocketStreams final : public RemoteStreams {
 public:
  WebSocketStreams(std::shared_ptr<WebSocketChannels> channels, const StreamSelection& selection)
      : channels_(std::move(channels)), selection_(selection) {
    // Tells the client that the connection stands.
    channels_->Send(selection.stdout ? kStdout : selection.stderr ? kStderr : kError, {});
  }

  void Listen(RemoteEvents events) override {
    auto shared = std::make_shared<RemoteEvents>(std::move(events));
    channels_->Listen({.data =
                           [shared, selection = selection_](int channel, std::string_view data) {
                             if (channel == kStdin && selection.stdin) shared->input(data);
                             if (channel == kResize && selection.tty) shared->resize(ParseTerminalSize(data));
                           },
                       .end =
                           [shared, selection = selection_](int channel) {
                             if (channel == kStdin && selection.stdin) shared->input_end();
                           },
                       .gone = [shared] { shared->gone(); }});
  }
  bool Write(Stream stream, std::string_view data) override {
    return channels_->Send(stream == Stream::kStdout ? kStdout : kStderr, data);
  }
  void Finish(const json::Value& status) override {
    const std::string_view protocol = channels_->protocol();
    const std::string text = StatusText(status, protocol.starts_with("v4.") || protocol.starts_with("v5."));
    if (!text.empty()) channels_->Send(kError, text);
    channels_->Close();
  }
  std::size_t pending_bytes() const override { return channels_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { channels_->OnDrained(low, std::move(fn)); }
  void PauseInput(bool paused) override { channels_->PauseInput(paused); }

 private:
  const std::shared_ptr<WebSocketChannels> channels_;
  const StreamSelection selection_;
};

}  // namespace

bool WantsSpdy(const net::Headers& headers) {
  return AsksFor(headers, "spdy/3.1");
}

bool WantsWebSocket(const net::Headers& headers) {
  return AsksFor(headers, "websocket");
}

TerminalSize ParseTerminalSize(std::string_view text) {
  const auto value = json::Parse(text);
  if (!value || !value->is_object()) return {};
  auto side = [&](const char* name) {
    return static_cast<unsigned short>(std::clamp<std::int64_t>((*value)[name].int_or(0), 0, 65535));
  };
  return {side("Width"), side("Height")};
}

std::string StatusText(const json::Value& status, bool structured) {
  if (structured) return json::Write(status);
  return std::string(status["status"].string_or("") == "Success" ? "" : status["message"].string_or(""));
}

void OpenRemoteStreams(const net::Request& request, const std::shared_ptr<net::ResponseStream>& stream,
                       const StreamSelection& selection,
                       std::function<void(std::shared_ptr<RemoteStreams>)> ready) {
  if (WantsSpdy(request.headers)) return OpenSpdyStreams(request, stream, selection, std::move(ready));
  if (!WantsWebSocket(request.headers)) return SendText(*stream, 400, "Upgrade request required");
  auto channels =
      WebSocketChannels::Accept(request, *stream,
                                {"v5.channel.k8s.io", "v5.base64.channel.k8s.io", "v4.channel.k8s.io",
                                 "v4.base64.channel.k8s.io", "channel.k8s.io", "base64.channel.k8s.io"});
  if (!channels) return;
  channels->PauseInput(true);
  stream->executor().PostAfter(kClientSetsUp, [channels, selection, ready = std::move(ready)] {
    channels->PauseInput(false);
    ready(std::make_shared<WebSocketStreams>(channels, selection));
  });
}

}  // namespace flyball::node
