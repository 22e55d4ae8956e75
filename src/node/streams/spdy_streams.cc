#include "node/streams/spdy_streams.h"

#include <map>
#include <optional>

#include "base/run/mutex.h"
#include "node/streams/node_request.h"

namespace flyball::node {
namespace {

using net::SpdySession;
using net::SpdyStream;

constexpr Duration kStreamsTimeout = std::chrono::seconds(30);  // kubelet's streamCreationTimeout

// Flow: kOpening (streams come, what they bring waits) -> ready -> Listen. Callbacks and Listen run on the
// connection's executor.
class SpdyRemoteStreams final : public RemoteStreams, public std::enable_shared_from_this<SpdyRemoteStreams> {
 public:
  SpdyRemoteStreams(const StreamSelection& selection, std::string_view protocol,
                    std::function<void(std::shared_ptr<RemoteStreams>)> ready)
      : selection_(selection), protocol_(protocol), ready_(std::move(ready)) {
    missing_ = {"error"};
    if (selection.stdin) missing_.push_back("stdin");
    if (selection.stdout) missing_.push_back("stdout");
    if (selection.stderr) missing_.push_back("stderr");
    if (selection.tty && protocol != "channel.k8s.io" && protocol != "v2.channel.k8s.io")
      missing_.push_back("resize");
  }

  void Start(std::shared_ptr<net::Duplex> connection, Executor& executor) {
    session_ = SpdySession::Start(
        SpdySession::Side::kServer, std::move(connection),
        {.on_stream = [self = shared_from_this()](auto stream) { self->OnStream(std::move(stream)); },
         .on_close = [self = shared_from_this()] { self->OnGone(); }});
    executor.PostAfter(kStreamsTimeout, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->ready_) self->session_->Close();
    });
  }

  void Listen(RemoteEvents events) override {
    events_ = std::move(events);
    if (!waiting_input_.empty()) events_->input(std::exchange(waiting_input_, {}));
    if (waiting_size_) events_->resize(*waiting_size_);
    if (input_ended_) events_->input_end();
    if (gone_) std::exchange(events_, std::nullopt)->gone();
  }
  bool Write(Stream stream, std::string_view data) override {
    const auto to = Find(stream == Stream::kStdout ? "stdout" : "stderr");
    return !to || to->Write(data);
  }
  void Finish(const json::Value& status) override {
    for (const char* name : {"stdout", "stderr"})
      if (const auto stream = Find(name)) stream->End();
    const auto error = Find("error");
    const std::string text = StatusText(status, protocol_.starts_with("v4.") || protocol_.starts_with("v5."));
    if (error && !text.empty()) error->Write(text);
    if (error) error->End();
    session_->Close();
  }
  std::size_t pending_bytes() const override { return session_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { session_->OnDrained(low, std::move(fn)); }
  void PauseInput(bool paused) override { paused ? session_->Pause() : session_->Resume(); }

 private:
  void OnStream(std::shared_ptr<SpdyStream> stream) {
    const std::string name(stream->headers().Get("streamtype"));
    if (std::erase(missing_, name) == 0) return stream->Reset();
    if (name == "stdin") {
      stream->Read([self = shared_from_this()](std::string_view data) { self->OnInput(data); },
                   [self = shared_from_this()] { self->OnInputEnd(); });
    } else if (name == "resize") {
      stream->Read([self = shared_from_this()](std::string_view data) { self->OnResize(data); }, [] {});
    }
    {
      MutexLock lock(mu_);
      streams_[name] = std::move(stream);
    }
    if (missing_.empty()) std::exchange(ready_, nullptr)(shared_from_this());
  }
  void OnInput(std::string_view data) {
    if (events_)
      events_->input(data);
    else
      waiting_input_.append(data);
  }
  void OnInputEnd() {
    input_ended_ = true;
    if (events_) events_->input_end();
  }
  void OnResize(std::string_view data) {
    // Sizes may share a frame's piece; each is an object on a line of its own, and the last one counts.
    const std::size_t last = data.rfind('{');
    if (last == std::string_view::npos) return;
    waiting_size_ = ParseTerminalSize(data.substr(last));
    if (events_) events_->resize(*waiting_size_);
  }
  void OnGone() {
    gone_ = true;
    ready_ = nullptr;
    // What they own may own this.
    if (const auto events = std::exchange(events_, std::nullopt)) events->gone();
    MutexLock lock(mu_);
    streams_.clear();
  }
  std::shared_ptr<SpdyStream> Find(const std::string& name) {
    MutexLock lock(mu_);
    const auto found = streams_.find(name);
    return found == streams_.end() ? nullptr : found->second;
  }

  const StreamSelection selection_;
  const std::string protocol_;
  std::function<void(std::shared_ptr<RemoteStreams>)> ready_;
  std::shared_ptr<SpdySession> session_;
  std::vector<std::string> missing_;
  std::optional<RemoteEvents> events_;
  std::string waiting_input_;
  std::optional<TerminalSize> waiting_size_;
  bool input_ended_ = false, gone_ = false;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<SpdyStream>> streams_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<net::Duplex> AcceptSpdy(const net::Request& request, net::ResponseStream& stream,
                                        const std::vector<std::string_view>& known,
                                        std::string_view& chosen) {
  const auto offered = HeaderList(request.headers, "x-stream-protocol-version");
  chosen = offered.empty() ? known.back() : FirstKnown(offered, known);
  if (chosen.empty()) {
    net::Headers headers{{"content-type", "text/plain; charset=utf-8"}};
    for (const auto name : known) headers.Add("x-accepted-stream-protocol-versions", std::string(name));
    stream.Send(403, std::move(headers), "unable to upgrade: unable to negotiate protocol");
    return nullptr;
  }
  net::Headers headers{{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
  headers.Add("x-stream-protocol-version", std::string(chosen));
  auto connection = stream.AcceptUpgrade(std::move(headers));
  if (connection) return *connection;
  SendText(stream, connection.error().code(), connection.error().message());
  return nullptr;
}

void OpenSpdyStreams(const net::Request& request, const std::shared_ptr<net::ResponseStream>& stream,
                     const StreamSelection& selection,
                     std::function<void(std::shared_ptr<RemoteStreams>)> ready) {
  std::string_view protocol;
  auto connection = AcceptSpdy(
      request, *stream,
      {"v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"},
      protocol);
  if (!connection) return;
  auto streams = std::make_shared<SpdyRemoteStreams>(selection, protocol, std::move(ready));
  streams->Start(std::move(connection), stream->executor());
}

}  // namespace flyball::node
