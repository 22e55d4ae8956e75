#include "net/h1/h1_client.h"

#include <algorithm>
#include <limits>

namespace flyball::net {

namespace {

constexpr Duration kIdleTimeout = std::chrono::seconds(90);  // as Go's client
constexpr std::size_t kMaxHeaderBytes = 256u << 10;

bool IsSafe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

}  // namespace

std::string EncodeH1Request(const Request& request, const Origin& origin, std::string_view extra) {
  std::string out = request.method + " " + origin.path_prefix + request.target + " HTTP/1.1\r\n";
  if (!request.headers.Has("host")) out += "host: " + origin.authority() + "\r\n";
  for (const auto& [name, value] : request.headers) {
    if (name == "content-length" || name == "transfer-encoding" || name == "connection") continue;
    out += name;
    out += ": ";
    for (const char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    out += "\r\n";
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
      request.method == "PATCH")
    out += "content-length: " + std::to_string(request.body.size()) + "\r\n";
  out += extra;
  out += "\r\n";
  out += request.body;
  return out;
}

H1ClientSession::H1ClientSession(Channel& channel, std::shared_ptr<const ClientContext> context,
                                 std::shared_ptr<ConnectionOwner> owner)
    : channel_(channel),
      context_(std::move(context)),
      owner_(std::move(owner)),
      idle_since_(channel.loop().clock().Steady()) {}

H1ClientSession::~H1ClientSession() = default;

void H1ClientSession::Submit(std::shared_ptr<ClientCall> call) {
  if (call->upload()) return call->Fail(Error(Reason::kConnection, "the server does not speak HTTP/2"));
  call_ = std::move(call);
  call_->Submitted(*this, 0);
  output_ = EncodeH1Request(call_->request(), context_->origin, "");
  output_sent_ = 0;
  any_byte_ = head_delivered_ = false;
  channel_.Notify(call_);
}

void H1ClientSession::Drop(ClientCall& call) {
  if (call_.get() != &call) return;
  call_ = nullptr;
  Leave();
  channel_.Close(Error(Reason::kCancelled, "the request was cancelled"));
}

void H1ClientSession::OnPauseChanged(ClientCall& call) {
  channel_.Notify(call.shared_from_this());
}

void H1ClientSession::Fill(std::string& out, std::size_t limit) {
  const std::size_t n = std::min(limit, output_.size() - output_sent_);
  out.append(output_, output_sent_, n);
  output_sent_ += n;
  if (output_sent_ < output_.size()) return;
  output_ = {};
  output_sent_ = 0;
}

void H1ClientSession::OnBytes(std::string_view data) {
  if (!call_) return Leave();  // nobody asked
  any_byte_ = true;
  input_.append(data);
  while (call_ && !input_.empty() && !finished_) {
    if (!parser_) {
      parser_.emplace(H1Parser::Kind::kResponse,
                      H1Limits{kMaxHeaderBytes, std::numeric_limits<std::uint64_t>::max()});
      if (call_->request().method == "HEAD") parser_->ExpectNoBody();
      head_delivered_ = false;
    }
    const std::size_t taken = parser_->Put(input_);
    input_.erase(0, taken);
    Deliver();
    if (taken == 0) break;
  }
}

void H1ClientSession::Deliver() {
  const auto state = parser_->state();
  if (state == H1Parser::State::kError)
    return channel_.Close(Error(Reason::kConnection, "malformed HTTP response: " + parser_->error_text()));
  if (state == H1Parser::State::kHead) return;
  H1Message& message = parser_->message();
  if (message.status < 200) {
    if (state == H1Parser::State::kDone) parser_.reset();  // 100 Continue: the answer is yet to come
    return;
  }
  if (!std::exchange(head_delivered_, true)) call_->Head(message.status, message.headers);
  if (!message.body.empty()) {
    call_->Data(message.body);
    message.body.clear();
  }
  if (state == H1Parser::State::kDone) FinishCall();
}

void H1ClientSession::FinishCall() {
  const bool keep = parser_->message().keep_alive && output_.empty();
  parser_.reset();
  auto call = std::exchange(call_, nullptr);
  reused_ = true;
  idle_since_ = channel_.loop().clock().Steady();
  if (!keep || !input_.empty()) Leave();
  call->End();
  if (!finished_) owner_->OnCapacity(*this);
}

void H1ClientSession::Leave() {
  finished_ = true;
  owner_->OnGoing(*this);
}

void H1ClientSession::OnEndOfInput() {
  if (call_ && parser_) {
    parser_->PutEof();
    if (parser_->state() != H1Parser::State::kError) Deliver();
  }
  Leave();
  if (call_) channel_.Close(Error(Reason::kConnection, any_byte_ ? "unexpected EOF" : "EOF"));
}

SteadyTime H1ClientSession::Deadline() const {
  return call_ || finished_ ? SteadyTime::max() : idle_since_ + kIdleTimeout;
}

void H1ClientSession::OnDeadline(SteadyTime) {
  Leave();
}

void H1ClientSession::OnClosed(const Error& error) {
  Leave();
  auto call = std::exchange(call_, nullptr);
  if (!call) return;
  const bool unsent = !output_.empty() && output_sent_ == 0;
  if (!any_byte_ && (unsent || (reused_ && IsSafe(call->request().method))))
    owner_->Retry(std::move(call), error);
  else
    call->Fail(error);
}

}  // namespace flyball::net
