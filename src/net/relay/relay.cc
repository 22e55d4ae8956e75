#include "net/relay/relay.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/run/mutex.h"
#include "base/values/bytes.h"
#include "net/tls/pki.h"

namespace flyball::net {
namespace {

// What a slow client may be owed before the other server is not read any more, and when it is again.
constexpr std::size_t kRelayHigh = 1u << 20;
constexpr std::size_t kRelayLow = 256u << 10;
constexpr int kGatewayTimeout = 504;

class Relay final : public ResponseSink, public std::enable_shared_from_this<Relay> {
 public:
  Relay(std::shared_ptr<Transport> to, std::shared_ptr<ResponseStream> stream, RelayRules rules)
      : to_(std::move(to)), stream_(std::move(stream)), rules_(std::move(rules)) {}

  std::shared_ptr<Call> Start(Request request) {
    const auto stream = stream_;  // it may be over before Start returns
    const auto call = to_->Start(std::move(request), shared_from_this());
    stream->OnClose([call] { call->Cancel(); });
    MutexLock lock(mu_);
    if (!over_) call_ = call;
    return call;
  }

  void OnHead(int status, const Headers& headers) override {
    if (rules_.refused && (status < 200 || status > 206)) {
      refusal_ = status;
      return;
    }
    state_ = MayAnswer() ? State::kPassing : State::kAnswered;
    if (state_ == State::kAnswered) return;
    if (rules_.instead) {
      if (const auto sent = rules_.instead(*stream_, status, headers)) return Answered(*sent);
    }
    Headers out;
    if (rules_.headers)
      out = rules_.headers(headers);
    else
      out.Set("content-type", std::string(headers.Get("content-type")));
    if (rules_.body) filter_ = rules_.body(headers);
    status_ = status;
    stream_->Begin(status, std::move(out));
  }
  void OnData(std::string_view data) override {
    if (refusal_) {
      refusal_text_ += data.substr(0, kMaxRefusal - refusal_text_.size());
      return;
    }
    const auto call = CallUnderWay();
    if (state_ == State::kAnswered) {  // nobody wants the rest
      if (call) call->Cancel();
      return;
    }
    stream_->Write(MakeBytes(filter_ ? filter_(data) : std::string(data)));
    if (stream_->pending_bytes() <= kRelayHigh || !call) return;
    call->Pause();
    stream_->OnDrained(kRelayLow, [call] { call->Resume(); });
  }
  void OnEnd() override {
    if (refusal_ && MayAnswer()) Answered(rules_.refused(*stream_, *refusal_, refusal_text_));
    if (state_ == State::kPassing) {
      if (filter_) stream_->Write(MakeBytes(filter_(std::nullopt)));
      stream_->End();
    }
    Over();
  }
  void OnError(const Error& error) override {
    // Once it has begun, an answer without an end tells the client.
    if (state_ == State::kWaiting && MayAnswer()) Answered(rules_.unreachable(*stream_, error));
    Over();
  }

 private:
  enum class State : std::uint8_t {
    kWaiting,   // for the head
    kPassing,   // what comes goes to the client
    kAnswered,  // the client has another answer
  };

  bool MayAnswer() const { return !rules_.may_answer || rules_.may_answer(); }
  void Answered(int status) {
    state_ = State::kAnswered;
    status_ = status;
  }
  std::shared_ptr<Call> CallUnderWay() {
    MutexLock lock(mu_);
    return call_;
  }
  void Over() {
    {
      MutexLock lock(mu_);
      over_ = true;
      call_ = nullptr;
    }
    stream_ = nullptr;
    if (rules_.done) rules_.done(status_);
  }

  const std::shared_ptr<Transport> to_;
  std::shared_ptr<ResponseStream> stream_;  // null once it is over
  const RelayRules rules_;
  State state_ = State::kWaiting;
  int status_ = kGatewayTimeout;  // if another has answered, that was the deadline
  std::optional<int> refusal_;    // the status of an answer that is not passed on
  std::string refusal_text_;
  BodyFilter filter_;
  Mutex mu_;
  std::shared_ptr<Call> call_ FLYBALL_GUARDED_BY(mu_);
  bool over_ FLYBALL_GUARDED_BY(mu_) = false;
};

// What an upgrade's protocols say to each other in the heads of its two messages.
void CopyUpgradeHeaders(const Headers& from, Headers& to,
                        const std::function<std::string(std::string_view)>& protocols) {
  for (const auto& [name, value] : from)
    if (name == "sec-websocket-protocol" && protocols) {
      if (std::string offered = protocols(value); !offered.empty()) to.Add(name, std::move(offered));
    } else if (name == "upgrade" || name.starts_with("sec-websocket-") ||
               name.starts_with("x-stream-protocol-") || name.starts_with("x-accepted-stream-")) {
      to.Add(name, value);
    }
}

int Join(ResponseStream& stream, const Upgraded& upgraded, const UpgradeRules& rules) {
  constexpr int kSwitchingProtocols = 101;
  Headers headers;
  headers.Add("connection", "Upgrade");
  CopyUpgradeHeaders(upgraded.headers, headers, rules.protocols);
  const auto client = stream.AcceptUpgrade(std::move(headers));
  if (client) {
    Splice(*client, upgraded.stream);
    return kSwitchingProtocols;
  }
  upgraded.stream->Abort();
  return rules.cannot_join(stream, client.error());
}

}  // namespace

bool IsUpgrade(const Request& request) {
  const auto protocol = request.headers.Get("upgrade");
  // Some clients offer HTTP/2 with every request; it is theirs to be declined by silence.
  return !protocol.empty() && protocol != "h2c";
}

std::shared_ptr<Call> RelayAnswer(const std::shared_ptr<Transport>& to, Request request,
                                  const std::shared_ptr<ResponseStream>& stream, RelayRules rules) {
  return std::make_shared<Relay>(to, stream, std::move(rules))->Start(std::move(request));
}

void RelayUpgrade(const std::shared_ptr<Transport>& to, const Request& original, std::string target,
                  Headers headers, const std::shared_ptr<ResponseStream>& stream, UpgradeRules rules) {
  Request ask;
  ask.method = original.method;
  ask.target = std::move(target);
  ask.headers = std::move(headers);
  CopyUpgradeHeaders(original.headers, ask.headers, rules.protocols);
  // HTTP/2 has neither of the two.
  const bool websocket = !original.headers.Has("x-stream-protocol-version");
  if (websocket && !ask.headers.Has("sec-websocket-key"))
    ask.headers.Set("sec-websocket-key", Base64Encode(RandomBytes(16)));
  if (websocket && !ask.headers.Has("sec-websocket-version")) ask.headers.Set("sec-websocket-version", "13");
  // The transport must outlive the connection that came from it.
  to->OpenUpgrade(std::move(ask), [stream, to, rules = std::move(rules)](Result<Upgraded> upgraded) {
    if (upgraded) stream->OnClose([to] {});
    const int status = upgraded ? Join(*stream, *upgraded, rules) : rules.refused(*stream, upgraded.error());
    if (rules.done) rules.done(status);
  });
}

bool IsHopByHop(std::string_view name) {
  constexpr std::string_view kNames[] = {"connection",
                                         "keep-alive",
                                         "proxy-connection",
                                         "proxy-authenticate",
                                         "proxy-authorization",
                                         "te",
                                         "trailer",
                                         "transfer-encoding",
                                         "upgrade",
                                         "content-length"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace flyball::net
