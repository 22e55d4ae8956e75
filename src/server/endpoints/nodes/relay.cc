#include "server/endpoints/nodes/relay.h"

#include <optional>
#include <utility>

#include "base/run/mutex.h"
#include "base/values/bytes.h"
#include "net/tls/pki.h"
#include "server/auth/bearer_token.h"
#include "server/request/answer.h"

namespace flyball::server {
namespace {

// What a slow client may be owed before the other server is not read any more, and when it is again.
constexpr std::size_t kRelayHigh = 1u << 20;
constexpr std::size_t kRelayLow = 256u << 10;

class Relay final : public net::ResponseSink, public std::enable_shared_from_this<Relay> {
 public:
  Relay(std::shared_ptr<net::Transport> to, std::shared_ptr<net::ResponseStream> stream, RelayRules rules)
      : to_(std::move(to)), stream_(std::move(stream)), rules_(std::move(rules)) {}

  void Start(net::Request request) {
    const auto call = to_->Start(std::move(request), shared_from_this());
    stream_->OnClose([call] { call->Cancel(); });
    MutexLock lock(mu_);
    if (!over_) call_ = call;
  }

  void OnHead(int status, const net::Headers& headers) override {
    if (rules_.refused && (status < 200 || status > 206)) {
      refusal_ = status;
      return;
    }
    net::Headers out;
    if (rules_.headers)
      out = rules_.headers(headers);
    else
      out.Set("content-type", std::string(headers.Get("content-type")));
    begun_ = true;
    stream_->Begin(status, std::move(out));
  }
  void OnData(std::string_view data) override {
    if (refusal_) {
      refusal_text_ += data.substr(0, kMaxRefusal - refusal_text_.size());
      return;
    }
    stream_->Write(MakeBytes(std::string(data)));
    if (stream_->pending_bytes() <= kRelayHigh) return;
    std::shared_ptr<net::Call> call;
    {
      MutexLock lock(mu_);
      call = call_;
    }
    if (!call) return;
    call->Pause();
    stream_->OnDrained(kRelayLow, [call] { call->Resume(); });
  }
  void OnEnd() override {
    if (refusal_)
      SendAnswer(*stream_, ErrorAnswer(rules_.refused(*refusal_, refusal_text_)), {});
    else
      stream_->End();
    Over();
  }
  void OnError(const Error& error) override {
    if (begun_)
      stream_->End();
    else
      SendAnswer(*stream_, ErrorAnswer(rules_.unreachable ? rules_.unreachable(error) : error), {});
    Over();
  }

 private:
  void Over() {
    MutexLock lock(mu_);
    over_ = true;
    call_ = nullptr;
  }

  const std::shared_ptr<net::Transport> to_;
  const std::shared_ptr<net::ResponseStream> stream_;
  const RelayRules rules_;
  bool begun_ = false;
  std::optional<int> refusal_;  // the status of an answer that is not passed on
  std::string refusal_text_;
  Mutex mu_;
  std::shared_ptr<net::Call> call_ FLYBALL_GUARDED_BY(mu_);
  bool over_ FLYBALL_GUARDED_BY(mu_) = false;
};

// What an upgrade's protocols say to each other in the heads of its two messages. The caller's token, which
// may be among the WebSocket's protocols, is for this server alone.
void CopyUpgradeHeaders(const net::Headers& from, net::Headers& to) {
  for (const auto& [name, value] : from)
    if (name == "sec-websocket-protocol") {
      if (std::string offered = WithoutTokens(value); !offered.empty()) to.Add(name, std::move(offered));
    } else if (name == "upgrade" || name.starts_with("sec-websocket-") ||
               name.starts_with("x-stream-protocol-") || name.starts_with("x-accepted-stream-")) {
      to.Add(name, value);
    }
}

void Refuse(net::ResponseStream& stream, const Error& error) {
  const bool answered = !error.Is(Reason::kConnection) && !error.Is(Reason::kTimeout);
  if (answered) return SendAnswer(stream, TextAnswer(error.code(), error.message()), {});
  SendAnswer(stream, ErrorAnswer(Error(Reason::kUnknown, 500, "error dialing backend: " + error.message())),
             {});
}

void Join(net::ResponseStream& stream, const net::Upgraded& upgraded) {
  net::Headers headers;
  headers.Add("connection", "Upgrade");
  CopyUpgradeHeaders(upgraded.headers, headers);
  const auto client = stream.AcceptUpgrade(std::move(headers));
  if (client) return net::Splice(*client, upgraded.stream);
  upgraded.stream->Abort();
  SendAnswer(stream, ErrorAnswer(client.error()), {});
}

}  // namespace

bool IsUpgrade(const net::Request& request) {
  const auto protocol = request.headers.Get("upgrade");
  // Some clients offer HTTP/2 with every request; it is theirs to be declined by silence.
  return !protocol.empty() && protocol != "h2c";
}

void RelayAnswer(const std::shared_ptr<net::Transport>& to, net::Request request,
                 const std::shared_ptr<net::ResponseStream>& stream, RelayRules rules) {
  std::make_shared<Relay>(to, stream, std::move(rules))->Start(std::move(request));
}

void RelayUpgrade(const std::shared_ptr<net::Transport>& to, const net::Request& original, std::string target,
                  net::Headers headers, const std::shared_ptr<net::ResponseStream>& stream) {
  net::Request ask;
  ask.method = original.method;
  ask.target = std::move(target);
  ask.headers = std::move(headers);
  CopyUpgradeHeaders(original.headers, ask.headers);
  // HTTP/2 has neither of the two.
  const bool websocket = !original.headers.Has("x-stream-protocol-version");
  if (websocket && !ask.headers.Has("sec-websocket-key"))
    ask.headers.Set("sec-websocket-key", net::Base64Encode(net::RandomBytes(16)));
  if (websocket && !ask.headers.Has("sec-websocket-version")) ask.headers.Set("sec-websocket-version", "13");
  // The transport must outlive the connection that came from it.
  to->OpenUpgrade(std::move(ask), [stream, to](Result<net::Upgraded> upgraded) {
    if (!upgraded) return Refuse(*stream, upgraded.error());
    stream->OnClose([to] {});
    Join(*stream, *upgraded);
  });
}

}  // namespace flyball::server
