#include "net/client/upgrade_client.h"

#include <unistd.h>

#include <optional>

#include "net/h1/h1_client.h"
#include "net/h1/h1_parser.h"
#include "net/http/http_date.h"
#include "net/io/outbox.h"
#include "net/io/raw_duplex.h"

namespace flyball::net {

namespace {

constexpr H1Limits kAnswerLimits{64u << 10, 1u << 20};

Reason ReasonForStatus(int status) {
  for (const Reason reason : {Reason::kUnauthorized, Reason::kForbidden, Reason::kNotFound, Reason::kConflict,
                              Reason::kTooManyRequests, Reason::kBadRequest, Reason::kServiceUnavailable})
    if (CodeOf(reason) == status) return reason;
  return Reason::kUnknown;
}

// Flow: kAsking -> (101) -> kOpen -> kOver.
class UpgradeSession final : public Session {
 public:
  UpgradeSession(Channel& channel, std::string request, UpgradeTaker taker)
      : channel_(channel),
        request_(std::move(request)),
        taker_(std::move(taker)),
        parser_(H1Parser(H1Parser::Kind::kResponse, kAnswerLimits)) {}

  void OnBytes(std::string_view data) override {
    if (state_ == State::kOpen) return listener_->OnBytes(data);
    if (state_ == State::kOver) return;
    input_.append(data);
    while (!input_.empty() && state_ == State::kAsking) {
      const std::size_t taken = parser_->Put(input_);
      input_.erase(0, taken);
      CheckAnswer();
      if (taken == 0) return;
    }
    if (state_ == State::kOpen && !input_.empty()) listener_->OnBytes(std::exchange(input_, {}));
  }

  void OnEndOfInput() override {
    if (state_ == State::kAsking) {
      parser_->PutEof();
      if (parser_->state() != H1Parser::State::kError) CheckAnswer();
    } else if (state_ == State::kOpen && listener_->OnEndOfBytes()) {
      return;  // what is queued may still be sent
    }
    channel_.Close(Error(Reason::kConnection, "the peer closed the connection"));
  }

  void Fill(std::string& out, std::size_t) override {
    out.append(std::exchange(request_, {}));
    if (out.empty() && state_ == State::kOpen && outbox_->Take(out)) state_ = State::kOver;
  }
  void OnNotified(Notifiable&) override {}
  bool WantsBytes() const override { return state_ != State::kOpen || !outbox_->paused(); }
  bool Finished() const override { return state_ == State::kOver; }
  SteadyTime Deadline() const override { return SteadyTime::max(); }
  void OnDeadline(SteadyTime) override {}

  void OnClosed(const Error& error) override {
    state_ = State::kOver;
    Fail(error);
    if (outbox_) outbox_->Close();
    if (listener_) listener_->OnGone();
    listener_ = nullptr;
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
    outbox_ = std::make_shared<Outbox>(channel_.shared_from_this());
    auto listener = taker_.accepted(answer.headers, channel_.shared_loop(), outbox_);
    state_ = listener ? State::kOpen : State::kOver;
    if (!listener) return Fail(listener.error());
    taker_.failed = nullptr;
    listener_ = std::move(*listener);
  }

  void Fail(const Error& error) {
    if (auto failed = std::exchange(taker_.failed, nullptr)) failed(error);
  }

  Channel& channel_;
  State state_ = State::kAsking;
  std::string request_;
  UpgradeTaker taker_;
  std::optional<H1Parser> parser_;
  std::string input_;
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<ByteListener> listener_;
};

// One attempt: connect, shake hands, ask.
struct UpgradeAttempt {
  std::shared_ptr<IoLoop> loop;
  std::shared_ptr<const ClientContext> context;
  std::shared_ptr<LiveChannels> channels;
  std::string request;
  UpgradeTaker taker;

  void Fail(const Error& error) {
    if (auto fn = std::exchange(taker.failed, nullptr)) fn(error);
  }
};

void OnUpgradeConnected(const std::shared_ptr<UpgradeAttempt>& attempt, Result<int> fd) {
  if (!fd) return attempt->Fail(fd.error());
  std::unique_ptr<TlsStream> tls;
  if (attempt->context->tls_http1) {
    auto stream = TlsStream::New(attempt->context->tls_http1, *fd, attempt->context->server_name());
    if (!stream) {
      close(*fd);
      return attempt->Fail(stream.error());
    }
    tls = std::move(*stream);
  }
  Channel::Options options;
  options.handshake_timeout = attempt->context->options.connect_timeout;
  auto channel = std::make_shared<Channel>(attempt->loop, *fd, options);
  attempt->channels->Add(channel);
  Channel* raw = channel.get();
  channel->Start(
      std::move(tls),
      [attempt, raw] {
        raw->SetSession(std::make_unique<UpgradeSession>(*raw, std::move(attempt->request),
                                                         std::exchange(attempt->taker, {})));
      },
      [attempt](const Error& error) { attempt->Fail(error); });
}

}  // namespace

void OpenUpgradeOn(const std::shared_ptr<IoLoop>& loop, const std::shared_ptr<const ClientContext>& context,
                   const std::shared_ptr<LiveChannels>& channels, const Request& request,
                   UpgradeTaker taker) {
  auto text = EncodeH1Request(request, context->origin, "connection: Upgrade\r\n");
  auto attempt = std::make_shared<UpgradeAttempt>(
      UpgradeAttempt{loop, context, channels, std::move(text), std::move(taker)});
  context->connector->Connect(loop,
                              [attempt](Result<int> fd) { OnUpgradeConnected(attempt, std::move(fd)); });
}

UpgradeTaker DuplexTaker(UpgradeDone done) {
  auto shared = std::make_shared<UpgradeDone>(std::move(done));
  UpgradeTaker taker;
  taker.accepted = [shared](const Headers& headers, std::shared_ptr<IoLoop> loop,
                            std::shared_ptr<ByteStream> bytes) -> Result<std::shared_ptr<ByteListener>> {
    auto duplex = std::make_shared<RawDuplex>(std::move(loop), std::move(bytes));
    (*shared)(Upgraded{headers, duplex});
    return std::shared_ptr<ByteListener>(std::move(duplex));
  };
  taker.failed = [shared](const Error& error) { (*shared)(Unexpected(error)); };
  return taker;
}

}  // namespace flyball::net
