#include "net/h1/h1_server.h"

#include <algorithm>
#include <charconv>

#include "net/exchange/request_head.h"
#include "net/exchange/trailer_prefix.h"
#include "net/http/http_date.h"

namespace flyball::net {

namespace {

// Pipelined input kept while an answer is under way.
constexpr std::size_t kMaxPipelined = 64u << 10;

// "content-type" -> "Content-Type", as Go's servers write it.
void AppendCanonical(std::string& out, std::string_view name) {
  bool upper = true;
  for (const char c : name) {
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
    upper = c == '-';
  }
}

void AppendField(std::string& out, std::string_view name, std::string_view value) {
  AppendCanonical(out, name);
  out += ": ";
  // A line break in a value would let whoever chose it write headers of his own.
  for (const char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  out += "\r\n";
}

bool HasLengthOrNoBody(const ServerStream::Head& head) {
  return !head.streamed || head.status == 101 || head.status == 204 || head.status == 304;
}

}  // namespace

H1ServerSession::H1ServerSession(Channel& channel, std::shared_ptr<ServerContext> context, Peer peer)
    : channel_(channel), context_(std::move(context)), peer_(std::move(peer)), since_(Now()) {}

H1ServerSession::~H1ServerSession() = default;

bool H1ServerSession::WantsBytes() const {
  if (state_ == State::kRaw) return !stream_->paused();
  return state_ != State::kFinished && (state_ != State::kAnswer || input_.size() < kMaxPipelined);
}

void H1ServerSession::OnBytes(std::string_view data) {
  if (state_ == State::kFinished) return;
  if (state_ == State::kRaw) return stream_->OnRawBytes(data);
  if (state_ == State::kRequest && !parser_ && input_.empty()) since_ = Now();
  input_.append(data);
  ParseInput();
}

void H1ServerSession::ParseInput() {
  std::size_t at = 0;
  while (state_ == State::kRequest && at < input_.size()) {
    if (!parser_) {
      // Some clients end a request with a stray line break (RFC 9112, 2.2).
      if (input_[at] == '\r' || input_[at] == '\n') {
        ++at;
        continue;
      }
      parser_.emplace(H1Parser::Kind::kRequest,
                      H1Limits{context_->limits.max_header_bytes, context_->limits.max_body_bytes});
      body_share_ = std::make_unique<BodyShare>(context_);
      head_checked_ = false;
      head_bytes_ = 0;
    }
    const bool in_head = parser_->state() == H1Parser::State::kHead;
    const std::size_t taken = parser_->Put(std::string_view(input_).substr(at));
    at += taken;
    if (in_head) head_bytes_ += taken;
    const auto state = parser_->state();
    if (state == H1Parser::State::kError) {
      const int status = parser_->error_status();
      Refuse(status, ReasonOf(status),
             status == 400 ? parser_->error_text() : MessageOf(status, context_->limits));
      break;
    }
    if (state != H1Parser::State::kHead && !std::exchange(head_checked_, true) && !CheckHead()) break;
    if (!KeepWithinBounds(input_.size() - at)) {
      Refuse(429, ReasonOf(429), MessageOf(429, context_->limits));
      break;
    }
    if (state == H1Parser::State::kDone) StartAnswer();
    if (taken == 0) break;
  }
  input_.erase(0, at);
  if (input_.empty()) input_.shrink_to_fit();
}

bool H1ServerSession::KeepWithinBounds(std::size_t rest) {
  // What follows a complete request belongs to the next one, and kMaxPipelined bounds it.
  if (parser_->state() == H1Parser::State::kDone) rest = 0;
  return body_share_->Resize(head_bytes_ + parser_->message().body.size() + rest);
}

bool H1ServerSession::CheckHead() {
  H1Message& message = parser_->message();
  if (const char* fault = FaultOfHead(message.method, message.headers, message.version)) {
    Refuse(400, "BadRequest", fault);
    return false;
  }
  if (!NormalizeTarget(message.target)) {
    Refuse(400, "BadRequest", "malformed request target");
    return false;
  }
  if (parser_->state() == H1Parser::State::kBody) ExpectContinue();
  return true;
}

void H1ServerSession::ExpectContinue() {
  const H1Message& message = parser_->message();
  if (message.version == 11 && EqualsIgnoringCase(message.headers.Get("expect"), "100-continue"))
    control_ += "HTTP/1.1 100 Continue\r\n\r\n";
}

void H1ServerSession::StartAnswer() {
  H1Message& message = parser_->message();
  auto request = std::make_shared<Request>();
  request->method = std::move(message.method);
  request->target = std::move(message.target);
  request->headers = std::move(message.headers);
  request->body = std::move(message.body);
  request->peer = peer_;
  keep_alive_ = message.keep_alive && !shutting_down_ && !input_ended_;
  http10_ = message.version < 11;
  ServerStream::Traits traits;
  traits.no_body = request->method == "HEAD";
  traits.accepts_gzip = AcceptsGzip(request->headers);
  traits.upgrade = message.upgrade && request->headers.Has("upgrade");
  if (traits.upgrade && request->method == "GET") SetWebSocketTraits(request->headers, traits);
  parser_.reset();
  auto share = std::move(body_share_);
  if (request->body.empty()) share.reset();
  stream_ = std::make_shared<ServerStream>(channel_.shared_from_this(), context_, std::move(traits));
  state_ = State::kAnswer;
  head_sent_ = false;
  first_ = false;
  if (context_->shutting_down) stream_->AnnounceClose();
  Dispatch(context_, std::move(request), std::move(share), stream_, [] {});
}

void H1ServerSession::Refuse(int status, std::string_view reason, std::string_view message) {
  const std::string body = StatusJson(status, reason, message);
  control_ += "HTTP/1.1 " + std::to_string(status) + " ";
  control_ += StatusText(status);
  control_ += "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body;
  parser_.reset();
  body_share_.reset();
  input_.clear();
  state_ = State::kFinished;
}

void H1ServerSession::Fill(std::string& out, std::size_t limit) {
  out.append(std::exchange(control_, {}));
  while (state_ == State::kAnswer && out.size() < limit) {
    stream_->Collect();
    const bool complete = AppendAnswer(out, limit);
    if (stream_->aborted() && stream_->available() == 0 && state_ == State::kAnswer) {
      // Half an answer cannot be taken back: that it lacks its end tells the client.
      state_ = State::kFinished;
      break;
    }
    if (!complete) break;
    FinishAnswer();
    out.append(std::exchange(control_, {}));
  }
  // One piece a time, and none with the head: see ServerStream::next_piece.
  if (state_ != State::kRaw || !out.empty()) return;
  stream_->Collect();
  stream_->Take(std::min(stream_->next_piece(), limit), out);
  if (stream_->available() == 0 && stream_->ended()) state_ = State::kFinished;
}

bool H1ServerSession::AppendAnswer(std::string& out, std::size_t limit) {
  if (!head_sent_) {
    const auto head = stream_->TakeHead();
    if (!head) return false;
    AppendHead(*head, out);
    head_sent_ = true;
    if (head->status == 101) {
      state_ = State::kRaw;
      if (!input_.empty()) stream_->OnRawBytes(std::exchange(input_, {}));
      return false;
    }
  }
  if (const std::size_t n = std::min(stream_->available(), limit); n > 0) AppendBody(n, out);
  if (stream_->available() > 0 || !stream_->ended()) return false;
  if (chunked_) out += "0\r\n\r\n";
  return true;
}

void H1ServerSession::AppendBody(std::size_t n, std::string& out) {
  if (!chunked_) return stream_->Take(n, out);
  char hex[16];
  const auto end = std::to_chars(hex, hex + sizeof hex, n, 16).ptr;
  out.append(hex, end);
  out += "\r\n";
  stream_->Take(n, out);
  out += "\r\n";
}

void H1ServerSession::AppendHead(const ServerStream::Head& head, std::string& out) {
  const bool framed = HasLengthOrNoBody(head);
  chunked_ = !framed && !http10_ && !stream_->traits().no_body;
  if (!framed && http10_) keep_alive_ = false;  // its end is the connection's
  if (shutting_down_ || EqualsIgnoringCase(head.headers.Get("connection"), "close")) keep_alive_ = false;
  out += "HTTP/1.1 ";
  out += std::to_string(head.status);
  out += ' ';
  out += StatusText(head.status);
  out += "\r\n";
  for (const auto& [name, value] : head.headers)
    if ((name != "connection" || head.status == 101) && !name.starts_with(kTrailerPrefix))
      AppendField(out, name, value);
  if (!head.headers.Has("date")) AppendField(out, "date", HttpDate(channel_.loop().clock().Now()));
  if (chunked_) out += "Transfer-Encoding: chunked\r\n";
  if (head.status != 101) {
    if (!keep_alive_) out += "Connection: close\r\n";
    if (keep_alive_ && http10_) out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
}

void H1ServerSession::FinishAnswer() {
  stream_->PeerGone();
  stream_.reset();
  if (!keep_alive_ || shutting_down_ || input_ended_) {
    state_ = State::kFinished;
    return;
  }
  state_ = State::kRequest;
  since_ = Now();
  ParseInput();
}

void H1ServerSession::OnEndOfInput() {
  input_ended_ = true;
  if (state_ == State::kRequest) {
    state_ = State::kFinished;
    return;
  }
  if (state_ == State::kFinished) return;
  if (state_ == State::kRaw) {
    if (!stream_->OnRawEnd()) channel_.Close(Error(Reason::kConnection, "the peer closed the connection"));
    return;
  }
  // A client that only closed its sending side still reads a plain answer; a streamed one has lost its
  // reader.
  stream_->InputEnded();
  stream_->Collect();
  if (stream_->ended() || !head_sent_) {
    keep_alive_ = false;
    stream_->AnnounceClose();
  } else {
    channel_.Close(Error(Reason::kConnection, "the peer closed the connection"));
  }
}

void H1ServerSession::BeginShutdown() {
  shutting_down_ = true;
  if (stream_) stream_->AnnounceClose();
  if (state_ == State::kRequest && !parser_) state_ = State::kFinished;
}

SteadyTime H1ServerSession::Deadline() const {
  if (state_ != State::kRequest) return SteadyTime::max();
  const bool talking = parser_ || !input_.empty() || first_;
  return since_ + (talking ? context_->limits.head_timeout : context_->limits.idle_timeout);
}

void H1ServerSession::OnDeadline(SteadyTime) {
  state_ = State::kFinished;
}

void H1ServerSession::OnClosed(const Error&) {
  state_ = State::kFinished;
  if (stream_) stream_->PeerGone();
  stream_.reset();
  parser_.reset();
  body_share_.reset();
  input_ = {};
}

}  // namespace flyball::net
