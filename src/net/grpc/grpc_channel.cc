#include "net/grpc/grpc_channel.h"

#include <array>
#include <charconv>
#include <optional>

#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "base/run/thread.h"
#include "net/client/http_client.h"
#include "net/exchange/trailer_sink.h"

namespace flyball::net {
namespace {

// How soon a server that could not be reached is tried again.
constexpr Duration kReconnect = std::chrono::milliseconds(100);
constexpr std::size_t kPrefix = 5;  // one byte "compressed", four bytes length
constexpr int kOk = 0, kUnknown = 2, kDeadlineExceeded = 4, kResourceExhausted = 8, kInternal = 13,
              kUnavailable = 14;
constexpr std::array kCodeNames = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

Error RpcError(int code, std::string_view description, Reason reason) {
  const bool known = code >= 0 && code < static_cast<int>(kCodeNames.size());
  const std::string name =
      known ? kCodeNames[static_cast<std::size_t>(code)] : "Code(" + std::to_string(code) + ")";
  return Error(reason, "rpc error: code = " + name + " desc = " + std::string(description));
}

Error Refusal(int code, std::string_view description) {
  return RpcError(code, description, code == kUnavailable ? Reason::kConnection : Reason::kInternalError);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// grpc-message is percent-encoded; what is not well-formed stays as it is.
std::string PercentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size();
    const int high = escape ? HexDigit(text[i + 1]) : -1, low = escape ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string Framed(std::string_view message) {
  std::string out(kPrefix, '\0');
  for (std::size_t i = 0; i < 4; ++i) out[1 + i] = static_cast<char>(message.size() >> (24 - 8 * i) & 0xff);
  return out.append(message);
}

// The one message of a unary response.
Result<std::string> Unframed(std::string_view body) {
  if (body.size() < kPrefix) return Unexpected(Refusal(kInternal, "the response has no message"));
  if (body[0] != 0) return Unexpected(Refusal(kInternal, "the response is compressed"));
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefix; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
  if (body.size() != kPrefix + size)
    return Unexpected(Refusal(kInternal, "the response is not one whole message"));
  return std::string(body.substr(kPrefix));
}

// States: head -> data -> trailers -> told. A response without data has the status in its head.
class UnarySink final : public TrailerSink {
 public:
  explicit UnarySink(std::shared_ptr<Notification<Result<std::string>>> told) : told_(std::move(told)) {}

  void OnHead(int status, const Headers& headers) override {
    http_status_ = status;
    content_type_ = headers.Get("content-type");
    ReadStatus(headers);
  }
  void OnData(std::string_view data) override {
    if (body_.size() + data.size() > GrpcChannel::kMaxMessage + kPrefix)
      return told_->Set(Unexpected(Refusal(kResourceExhausted, "received message larger than max")));
    body_ += data;
  }
  void OnTrailers(const Headers& trailers) override { ReadStatus(trailers); }
  void OnEnd() override { told_->Set(Outcome()); }
  void OnError(const Error& error) override {
    told_->Set(Unexpected(RpcError(kUnavailable, error.message(), error.reason())));
  }

 private:
  void ReadStatus(const Headers& headers) {
    const std::string_view text = headers.Get("grpc-status");
    if (text.empty()) return;
    int code = kUnknown;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
    code_ = error == std::errc() && end == text.data() + text.size() ? code : kUnknown;
    message_ = PercentDecoded(headers.Get("grpc-message"));
  }

  Result<std::string> Outcome() const {
    if (code_ && *code_ != kOk) return Unexpected(Refusal(*code_, message_));
    if (http_status_ != 200 || !content_type_.starts_with("application/grpc"))
      return Unexpected(
          Refusal(http_status_ >= 502 && http_status_ <= 504 ? kUnavailable : kUnknown,
                  "unexpected HTTP status code received from server: " + std::to_string(http_status_)));
    if (!code_) return Unexpected(Refusal(kInternal, "server closed the stream without sending trailers"));
    return Unframed(body_);
  }

  const std::shared_ptr<Notification<Result<std::string>>> told_;
  int http_status_ = 0;
  std::string content_type_, body_, message_;
  std::optional<int> code_;
};

// Deadlines of all channels: calls are rare, and the thread starts with the first.
TimerThread& Deadlines() {
  static auto* timers = new TimerThread("grpc-deadline");
  return *timers;
}

}  // namespace

Result<std::unique_ptr<GrpcChannel>> GrpcChannel::Make(const std::string& url) {
  ClientOptions options;
  options.url = url;
  FLYBALL_ASSIGN(auto transport, NewHttpClient(options));
  return std::make_unique<GrpcChannel>(std::move(transport));
}

Result<std::string> GrpcChannel::Call(const std::string& method, std::string_view message,
                                      const GrpcCallOptions& options) const {
  const SteadyTime deadline = RealClock().Steady() + options.timeout;
  for (;;) {
    auto outcome = CallOnce(method, message, deadline - RealClock().Steady());
    const bool again = options.wait_for_ready && !outcome && outcome.error().Is(Reason::kConnection) &&
                       RealClock().Steady() + kReconnect < deadline;
    if (!again) return outcome;
    Notification<bool> waited;
    Deadlines().Add(RealClock().Steady() + kReconnect, [&waited] { waited.Set(true); });
    waited.Wait();
  }
}

Result<std::string> GrpcChannel::CallOnce(const std::string& method, std::string_view message,
                                          Duration timeout) const {
  Request request;
  request.method = "POST";
  request.target = method;
  request.headers.Set("te", "trailers");
  request.headers.Set("content-type", "application/grpc");
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  request.headers.Set("grpc-timeout", std::to_string(std::max<std::int64_t>(left, 1)) + "m");
  request.body = Framed(message);
  auto told = std::make_shared<Notification<Result<std::string>>>();
  const auto call = transport_->Start(std::move(request), std::make_shared<UnarySink>(told));
  const auto timer = Deadlines().Add(RealClock().Steady() + timeout, [told] {
    told->Set(Unexpected(RpcError(kDeadlineExceeded, "context deadline exceeded", Reason::kTimeout)));
  });
  Result<std::string> outcome = told->Wait();
  Deadlines().Cancel(timer);
  if (!outcome) call->Cancel();
  return outcome;
}

}  // namespace flyball::net
