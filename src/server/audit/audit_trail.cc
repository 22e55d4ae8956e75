#include "server/audit/audit_trail.h"

#include <functional>
#include <utility>

#include "json/json.h"
#include "server/auth/request_authorization.h"

namespace flyball::server {
namespace {

// Requests that last (upstream: BasicLongRunningRequestCheck).
bool LastsLong(const RequestInfo& info) {
  if (info.verb == "watch" || info.verb == "proxy") return true;
  const auto& sub = info.subresource;
  return sub == "attach" || sub == "exec" || sub == "proxy" || sub == "log" || sub == "portforward";
}

// What was tried, as upstream names it.
std::string AuthenticationFailed(const net::Request& request) {
  const std::string_view authorization = request.headers.Get("authorization");
  std::string attempted;
  const auto add = [&](const char* method) {
    attempted += (attempted.empty() ? "" : ", ") + std::string(method);
  };
  if (authorization.starts_with("Basic ")) add("basic");
  if (authorization.starts_with("Bearer ")) add("bearer");
  if (request.target.find("access_token=") != std::string::npos) add("access_token");
  if (!request.peer.certificate_sha256.empty()) add("x509");
  return attempted.empty() ? "Authentication failed, no credentials provided"
                           : "Authentication failed, attempted: " + attempted;
}

// Keeps what passes, up to a limit; beyond it nothing, for a part of an object says nothing.
class CopyingSource final : public BodySource {
 public:
  CopyingSource(std::shared_ptr<BodySource> source, std::shared_ptr<std::string> copy)
      : source_(std::move(source)), copy_(std::move(copy)) {}

  bool Next(std::size_t size, std::string& out) override {
    const std::size_t before = out.size();
    const bool more = source_->Next(size, out);
    if (too_much_) return more;
    copy_->append(out, before);
    too_much_ = copy_->size() > Audit::kMaxEvent;
    if (too_much_) copy_->clear();
    return more;
  }

 private:
  const std::shared_ptr<BodySource> source_;
  const std::shared_ptr<std::string> copy_;
  bool too_much_ = false;
};

// Passes everything on and says once which status the response began with.
class StartWatchingStream final : public net::ResponseStream {
 public:
  StartWatchingStream(std::shared_ptr<net::ResponseStream> stream, std::function<void(int)> started)
      : stream_(std::move(stream)), started_(std::move(started)) {}

  void Send(int status, net::Headers headers, std::string body) override {
    Started(status);
    stream_->Send(status, std::move(headers), std::move(body));
  }
  void Begin(int status, net::Headers headers) override {
    Started(status);
    stream_->Begin(status, std::move(headers));
  }
  void BeginCompressible(int status, net::Headers headers) override {
    Started(status);
    stream_->BeginCompressible(status, std::move(headers));
  }
  bool Write(Bytes chunk) override { return stream_->Write(std::move(chunk)); }
  void End() override { stream_->End(); }
  std::size_t pending_bytes() const override { return stream_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { stream_->OnDrained(low, std::move(fn)); }
  void OnClose(Closure fn) override { stream_->OnClose(std::move(fn)); }
  bool closed() const override { return stream_->closed(); }
  Result<std::shared_ptr<net::WebSocket>> AcceptWebSocket(std::string_view subprotocol) override {
    auto accepted = stream_->AcceptWebSocket(subprotocol);
    if (accepted) Started(101);
    return accepted;
  }
  Result<std::shared_ptr<net::Duplex>> AcceptUpgrade(net::Headers headers) override {
    auto accepted = stream_->AcceptUpgrade(std::move(headers));
    if (accepted) Started(101);
    return accepted;
  }
  Executor& executor() override { return stream_->executor(); }

 private:
  void Started(int status) {
    if (auto started = std::exchange(started_, nullptr)) started(status);
  }

  const std::shared_ptr<net::ResponseStream> stream_;
  std::function<void(int)> started_;
};

}  // namespace

const User* AuditTrail::Sender() const {
  if (!authenticated_ && scope_.user.name.empty()) return nullptr;
  return scope_.impersonator ? &*scope_.impersonator : &scope_.user;
}

void AuditTrail::Decide() {
  decided_ = true;
  if (!audit_.enabled()) return;
  AuthorizationAttributes attributes = AttributesOf(scope_);
  attributes.user = Sender();
  decision_ = audit_.Decide(attributes);
}

Task<bool> AuditTrail::Record(AuditStage stage, AuditOutcome outcome) {
  if (!decision_.Wants(stage)) co_return true;
  json::Value event =
      MakeAuditEvent(scope_, request_, Sender(), decision_, stage, std::move(outcome), clock_.Now());
  co_return co_await audit_.Submit(std::move(event), scope_.executor);
}

Task<Status> AuditTrail::Received() {
  authenticated_ = true;
  Decide();
  // A temporary of a class inside a co_await in a condition is miscompiled by g++ 12.
  AuditOutcome nothing;
  const bool recorded = co_await Record(AuditStage::kRequestReceived, std::move(nothing));
  if (!recorded) co_return Unexpected(InternalError("failed to store audit event"));
  co_return Status();
}

std::shared_ptr<net::ResponseStream> AuditTrail::WatchStart(std::shared_ptr<net::ResponseStream> stream) {
  if (!decision_.Wants(AuditStage::kResponseStarted) || !LastsLong(scope_.info)) return stream;
  // Made now, for the stream may outlive the request's coroutine.
  auto event = std::make_shared<json::Value>(
      MakeAuditEvent(scope_, request_, Sender(), decision_, AuditStage::kResponseStarted, {}, clock_.Now()));
  start_recorded_ = std::make_shared<bool>(false);
  return std::make_shared<StartWatchingStream>(
      std::move(stream), [&audit = audit_, &clock = clock_, event, recorded = start_recorded_](int code) {
        *recorded = true;
        SetAuditResponseCode(*event, code, clock.Now());
        audit.SubmitUnawaited(std::move(*event));
      });
}

void AuditTrail::NoteResponse(Answer& answer) {
  if (decision_.level < AuditLevel::kRequestResponse || answer.content_type != "application/json") return;
  response_ = std::make_shared<std::string>();
  if (answer.source)
    answer.source = std::make_shared<CopyingSource>(std::move(answer.source), response_);
  else if (answer.body.size() <= Audit::kMaxEvent)
    *response_ = answer.body;
}

Task<void> AuditTrail::Finished(int code, const Error* error, const std::string& panic,
                                json::Value request_object) {
  const bool anonymous = !decided_ && scope_.user.name.empty();
  if (!decided_) Decide();
  if (decision_.level == AuditLevel::kNone) co_return;
  AuditOutcome outcome;
  outcome.code = code;
  outcome.error = error;
  outcome.request_object = std::move(request_object);
  if (response_ && !response_->empty())
    if (auto value = json::Parse(*response_)) outcome.response_object = std::move(*value);
  if (decision_.omit_managed_fields) {
    DropManagedFields(outcome.request_object);
    DropManagedFields(outcome.response_object);
  }
  AuditStage stage = AuditStage::kResponseComplete;
  if (!panic.empty()) {
    stage = AuditStage::kPanic;
    outcome.message = "APIServer panic'd: " + panic;
  } else if (anonymous && code == 401) {
    // Upstream audits these before anything else is known of the request.
    stage = decision_.Wants(AuditStage::kResponseStarted) ? AuditStage::kResponseStarted : stage;
    outcome.message = AuthenticationFailed(request_);
  }
  // A request that was to last, and was refused before it began.
  if (start_recorded_ && !*start_recorded_) {
    AuditOutcome start;
    start.code = code;
    start.error = error;
    co_await Record(AuditStage::kResponseStarted, std::move(start));
  }
  co_await Record(stage, std::move(outcome));
}

}  // namespace flyball::server
