#include "net/exchange/client_call.h"

#include <exception>

#include "base/observe/log.h"

namespace flyball::net {
namespace {

std::shared_ptr<Upload> UploadOf(ResponseSink* sink) {
  auto* const uploading = dynamic_cast<UploadingSink*>(sink);
  return uploading ? uploading->upload() : nullptr;
}

}  // namespace

ClientCall::ClientCall(std::shared_ptr<IoLoop> loop, Request request, std::shared_ptr<ResponseSink> sink)
    : loop_(std::move(loop)),
      request_(std::move(request)),
      sink_(std::move(sink)),
      upload_(UploadOf(sink_.get())) {}

ClientCall::~ClientCall() = default;

// A sink that throws must not unwind through C code; its call is over.
template <typename Fn>
void ClientCall::Guard(Fn fn) {
  try {
    fn();
  } catch (const std::exception& e) {
    log::Error("a response sink failed", {{"what", e.what()}});
    Cancel();
  } catch (...) {
    log::Error("a response sink failed");
    Cancel();
  }
}

void ClientCall::OnLoop(void (ClientCall::*method)()) {
  loop_->Post([self = shared_from_this(), method] { ((*self).*method)(); });
}

void ClientCall::Cancel() {
  if (!cancelled_.exchange(true)) OnLoop(&ClientCall::CancelOnLoop);
}

void ClientCall::CancelOnLoop() {
  if (ended()) return;
  const auto carrier = std::exchange(connection, nullptr);
  Fail(Error(Reason::kCancelled, "the request was cancelled"));
  if (carrier) carrier->Drop(*this);
}

void ClientCall::Pause() {
  if (!want_pause_.exchange(true)) OnLoop(&ClientCall::ApplyPause);
}

void ClientCall::Resume() {
  if (want_pause_.exchange(false)) OnLoop(&ClientCall::ApplyPause);
}

void ClientCall::ApplyPause() {
  const bool want = want_pause_;
  if (std::exchange(paused_, want) != want && connection) connection->OnPauseChanged(*this);
}

void ClientCall::Submitted(ClientConnection& carrier, std::int32_t stream) {
  connection = &carrier;
  stream_id = stream;
  auto* const sink = dynamic_cast<TrailerSink*>(sink_.get());
  if (sink && !cancelled_) Guard([&] { sink->OnSubmitted(); });
  if (!upload_) return;
  upload_->OnGrowth([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnLoop(&ClientCall::ApplyGrowth);
  });
}

void ClientCall::ApplyGrowth() {
  if (connection) connection->OnUploadGrown(*this);
}

void ClientCall::Head(int status, const Headers& headers) {
  head_seen_ = true;
  if (sink_ && !cancelled_) Guard([&] { sink_->OnHead(status, headers); });
}

void ClientCall::Data(std::string_view data) {
  if (sink_ && !cancelled_ && !data.empty()) Guard([&] { sink_->OnData(data); });
}

void ClientCall::Trailers(const Headers& trailers) {
  auto* const sink = dynamic_cast<TrailerSink*>(sink_.get());
  if (sink && !cancelled_) Guard([&] { sink->OnTrailers(trailers); });
}

void ClientCall::End() {
  connection = nullptr;
  if (ended() || cancelled_) return;  // a cancel under way tells the sink
  const auto sink = std::exchange(sink_, nullptr);
  Guard([&] { sink->OnEnd(); });
}

void ClientCall::Fail(const Error& error) {
  connection = nullptr;
  if (ended()) return;
  const auto sink = std::exchange(sink_, nullptr);
  Guard([&] { sink->OnError(cancelled_ ? Error(Reason::kCancelled, "the request was cancelled") : error); });
}

}  // namespace flyball::net
