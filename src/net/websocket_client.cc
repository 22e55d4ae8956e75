#include "net/websocket_client.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "net/h1_client.h"
#include "net/h1_parser.h"
#include "net/http_date.h"
#include "net/pki.h"
#include "net/request_head.h"
#include "net/websocket_stream.h"

namespace flyball::net {

namespace {

constexpr H1Limits kAnswerLimits{64u << 10, 1u << 20};

Reason ReasonForStatus(int status) {
  for (const Reason reason : {Reason::kUnauthorized, Reason::kForbidden, Reason::kNotFound, Reason::kConflict,
                              Reason::kTooManyRequests, Reason::kBadRequest, Reason::kServiceUnavailable})
    if (CodeOf(reason) == status) return reason;
  return Reason::kUnknown;
}

// What a WebSocket has queued, for the session to send.
class Outbox final : public ByteStream, public Notifiable, public std::enable_shared_from_this<Outbox> {
 public:
  explicit Outbox(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}

  bool Write(Bytes bytes) override {
    {
      MutexLock lock(mu_);
      if (ended_) return false;
      pending_.fetch_add(bytes->size(), std::memory_order_relaxed);
      queue_.push_back(std::move(bytes));
    }
    channel_->Notify(shared_from_this());
    return true;
  }
  void End() override {
    {
      MutexLock lock(mu_);
      ended_ = true;
    }
    channel_->Notify(shared_from_this());
  }
  std::size_t pending_bytes() const override { return pending_.load(std::memory_order_relaxed); }

  // Moves what fits; true if that was all and there will be no more.
  bool Take(std::string& out, std::size_t limit) {
    MutexLock lock(mu_);
    while (!queue_.empty() && out.size() < limit) {
      out.append(*queue_.front());
      pending_.fetch_sub(queue_.front()->size(), std::memory_order_relaxed);
      queue_.pop_front();
    }
    return ended_ && queue_.empty();
  }

 private:
  const std::shared_ptr<Channel> channel_;
  std::atomic<std::size_t> pending_{0};
  Mutex mu_;
  std::deque<Bytes> queue_ FLYBALL_GUARDED_BY(mu_);
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
};

// Flow: kAsking -> (101) -> kOpen -> kOver.
class UpgradeSession final : public Session {
 public:
  UpgradeSession(Channel& channel, std::string request, std::string key, std::vector<std::string> offered,
                 WebSocketDone done)
      : channel_(channel),
        request_(std::move(request)),
        key_(std::move(key)),
        offered_(std::move(offered)),
        done_(std::move(done)),
        parser_(H1Parser(H1Parser::Kind::kResponse, kAnswerLimits)) {}

  void OnBytes(std::string_view data) override {
    if (state_ == State::kOpen) return websocket_->OnBytes(data);
    if (state_ == State::kOver) return;
    input_.append(data);
    while (!input_.empty() && state_ == State::kAsking) {
      const std::size_t taken = parser_->Put(input_);
      input_.erase(0, taken);
      CheckAnswer();
      if (taken == 0) return;
    }
    if (state_ == State::kOpen && !input_.empty()) websocket_->OnBytes(std::exchange(input_, {}));
  }

  void OnEndOfInput() override {
    if (state_ == State::kAsking) {
      parser_->PutEof();
      if (parser_->state() != H1Parser::State::kError) CheckAnswer();
    }
    channel_.Close(Error(Reason::kConnection, "the peer closed the connection"));
  }

  void Fill(std::string& out, std::size_t limit) override {
    out.append(std::exchange(request_, {}));
    if (state_ == State::kOpen && outbox_->Take(out, limit)) state_ = State::kOver;
  }
  void OnNotified(Notifiable&) override {}
  bool Finished() const override { return state_ == State::kOver; }
  SteadyTime Deadline() const override { return SteadyTime::max(); }
  void OnDeadline(SteadyTime) override {}

  void OnClosed(const Error& error) override {
    state_ = State::kOver;
    Fail(error);
    if (websocket_) websocket_->OnGone();
    websocket_ = nullptr;
  }

 private:
  enum class State { kAsking, kOpen, kOver };

  void CheckAnswer() {
    if (parser_->state() == H1Parser::State::kError) {
      state_ = State::kOver;
      return Fail(Error(Reason::kConnection, "malformed HTTP response: " + parser_->error_text()));
    }
    if (parser_->state() != H1Parser::State::kDone) return;
    const H1Message& answer = parser_->message();
    if (answer.status != 101) {
      state_ = State::kOver;
      return Fail(Error(ReasonForStatus(answer.status), answer.status,
                        answer.body.empty() ? std::string(StatusText(answer.status)) : answer.body));
    }
    const std::string chosen(answer.headers.Get("sec-websocket-protocol"));
    const bool offered =
        chosen.empty() || std::find(offered_.begin(), offered_.end(), chosen) != offered_.end();
    if (answer.headers.Get("sec-websocket-accept") != WebSocketAccept(key_) || !offered) {
      state_ = State::kOver;
      return Fail(Error(Reason::kConnection, "the server's WebSocket handshake is wrong"));
    }
    state_ = State::kOpen;
    outbox_ = std::make_shared<Outbox>(channel_.shared_from_this());
    websocket_ = std::make_shared<WebSocketStream>(WebSocketStream::Side::kClient, channel_.shared_loop(),
                                                   outbox_, chosen);
    std::exchange(done_, nullptr)(std::shared_ptr<WebSocket>(websocket_));
  }

  void Fail(const Error& error) {
    if (auto done = std::exchange(done_, nullptr)) done(Unexpected(error));
  }

  Channel& channel_;
  State state_ = State::kAsking;
  std::string request_;
  const std::string key_;
  const std::vector<std::string> offered_;
  WebSocketDone done_;
  std::optional<H1Parser> parser_;
  std::string input_;
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<WebSocketStream> websocket_;
};

std::string EncodeUpgrade(const Request& request, const Origin& origin, const std::string& key,
                          const std::vector<std::string>& subprotocols) {
  std::string extra =
      "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: " + key +
      "\r\n";
  if (!subprotocols.empty()) {
    extra += "sec-websocket-protocol: ";
    for (std::size_t i = 0; i < subprotocols.size(); ++i) extra += (i ? ", " : "") + subprotocols[i];
    extra += "\r\n";
  }
  return EncodeH1Request(request, origin, extra);
}

// One attempt: connect, shake hands, upgrade.
struct Opening {
  std::shared_ptr<IoLoop> loop;
  std::shared_ptr<const ClientContext> context;
  std::shared_ptr<WebSocketChannels> channels;
  Request request;
  std::vector<std::string> subprotocols;
  WebSocketDone done;

  void Fail(const Error& error) {
    if (auto fn = std::exchange(done, nullptr)) fn(Unexpected(error));
  }
};

void Upgrade(const std::shared_ptr<Opening>& opening, Channel& channel) {
  const std::string key = Base64Encode(RandomBytes(16));
  auto text = EncodeUpgrade(opening->request, opening->context->origin, key, opening->subprotocols);
  channel.SetSession(std::make_unique<UpgradeSession>(channel, std::move(text), key, opening->subprotocols,
                                                      std::exchange(opening->done, nullptr)));
}

void OnConnected(const std::shared_ptr<Opening>& opening, Result<int> fd) {
  if (!fd) return opening->Fail(fd.error());
  std::unique_ptr<TlsStream> tls;
  if (opening->context->tls_http1) {
    auto stream = TlsStream::New(opening->context->tls_http1, *fd, opening->context->server_name());
    if (!stream) {
      close(*fd);
      return opening->Fail(stream.error());
    }
    tls = std::move(*stream);
  }
  Channel::Options options;
  options.handshake_timeout = opening->context->options.connect_timeout;
  auto channel = std::make_shared<Channel>(opening->loop, *fd, options);
  opening->channels->Add(channel);
  Channel* raw = channel.get();
  channel->Start(
      std::move(tls), [opening, raw] { Upgrade(opening, *raw); },
      [opening](const Error& error) { opening->Fail(error); });
}

}  // namespace

void WebSocketChannels::Add(const std::shared_ptr<Channel>& channel) {
  std::erase_if(channels_, [](const auto& weak) { return weak.expired(); });
  channels_.push_back(channel);
}

void WebSocketChannels::CloseAll() {
  for (const auto& weak : std::exchange(channels_, {}))
    if (auto channel = weak.lock()) channel->Close(Error(Reason::kConnection, "the client is closed"));
}

void OpenWebSocketOn(const std::shared_ptr<IoLoop>& loop, const std::shared_ptr<const ClientContext>& context,
                     const std::shared_ptr<WebSocketChannels>& channels, Request request,
                     std::vector<std::string> subprotocols, WebSocketDone done) {
  auto opening = std::make_shared<Opening>(
      Opening{loop, context, channels, std::move(request), std::move(subprotocols), std::move(done)});
  context->connector->Connect(loop, [opening](Result<int> fd) { OnConnected(opening, std::move(fd)); });
}

}  // namespace flyball::net
