#include "net/h2/h2_server.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <vector>

#include "net/exchange/request_head.h"
#include "net/exchange/trailer_prefix.h"
#include "net/http/http_date.h"

namespace flyball::net {

namespace {

constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 4 << 20;
// A client may cancel many watches at once; a flood beyond that is an attack.
constexpr std::uint64_t kResetBurst = 20000;
constexpr std::uint64_t kResetsPerSecond = 2000;
// Headers that go on this many times over the limit are not worth answering.
constexpr std::size_t kHeaderAbuseFactor = 4;
// A refused body is read and thrown away up to this many times the limit.
constexpr std::size_t kDiscardFactor = 4;
// Complete requests waiting while as many handlers as streams are allowed still run.
constexpr std::size_t kMaxWaitingFactor = 4;

nghttp2_nv Field(std::string_view name, std::string_view value) {
  // nghttp2 copies both; it only never got round to const.
  auto* n = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(name.data()));
  auto* v = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(value.data()));
  return {n, v, name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Fields that belong to HTTP/1.1 connections have no place in HTTP/2.
bool IsConnectionField(std::string_view name) {
  return name == "connection" || name == "transfer-encoding" || name == "keep-alive" || name == "upgrade" ||
         name == "proxy-connection";
}

std::string_view BufferView(nghttp2_rcbuf* buffer) {
  const nghttp2_vec v = nghttp2_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(v.base), v.len};
}

}  // namespace

struct H2ServerSession::Callbacks {
  static H2ServerSession& Self(void* user) { return *static_cast<H2ServerSession*>(user); }

  static int BeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& self = Self(user);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Stream& stream = self.streams_[frame->hd.stream_id];
    stream.id = frame->hd.stream_id;
    stream.request = std::make_shared<Request>();
    stream.since = self.Now();
    ++self.receiving_;
    return 0;
  }

  static int Header(nghttp2_session*, const nghttp2_frame* frame, nghttp2_rcbuf* name, nghttp2_rcbuf* value,
                    std::uint8_t, void* user) {
    auto& self = Self(user);
    Stream* stream = self.Find(frame->hd.stream_id);
    if (!stream || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
      return 0;  // trailers are of no use to anyone here
    return self.OnHeader(*stream, BufferView(name), BufferView(value));
  }

  static int FrameReceived(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& self = Self(user);
    Stream* stream = self.Find(frame->hd.stream_id);
    if (!stream) return 0;
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      self.OnHeadersComplete(*stream, end);
    else if (end && (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS))
      self.OnEnd(*stream);
    return 0;
  }

  static int DataChunk(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                       std::size_t size, void* user) {
    auto& self = Self(user);
    Stream* stream = self.Find(id);
    return stream ? self.OnData(*stream, {reinterpret_cast<const char*>(data), size}) : 0;
  }

  static int StreamClosed(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    Self(user).OnStreamClosed(id);
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t length,
                          std::uint32_t* flags, nghttp2_data_source* source, void* user) {
    auto& answer = *static_cast<ServerStream*>(source->ptr);
    const std::size_t available = answer.available();
    const std::size_t n = std::min(length, available);
    if (n == available && answer.ended()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (Self(user).SubmitTrailers(id)) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    }
    if (n > 0) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (n == 0 && answer.aborted()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
    if (n == 0 && !answer.ended()) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(n);
  }
};

H2ServerSession::H2ServerSession(Channel& channel, std::shared_ptr<ServerContext> context, Peer peer)
    : H2Session(channel), context_(std::move(context)), peer_(std::move(peer)), idle_since_(Now()) {
  running_->session = this;
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &Callbacks::BeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback2(callbacks, &Callbacks::Header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::FrameReceived);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::DataChunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::StreamClosed);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_stream_reset_rate_limit(option, kResetBurst, kResetsPerSecond);
  nghttp2_option_set_no_closed_streams(option, 1);
  Open(true, callbacks, option);
  SubmitSettings();
}

H2ServerSession::~H2ServerSession() {
  running_->session = nullptr;
}

void H2ServerSession::SubmitSettings() {
  const auto& limits = context_->limits;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.max_streams_per_connection},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.max_header_bytes)},
      {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
  };
  nghttp2_submit_settings(h2_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(h2_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

H2ServerSession::Stream* H2ServerSession::Find(std::int32_t id) {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : &it->second;
}

int H2ServerSession::OnHeader(Stream& stream, std::string_view name, std::string_view value) {
  constexpr std::size_t kFieldOverhead = 32;  // RFC 9113, 6.5.2
  stream.header_bytes += name.size() + value.size() + kFieldOverhead;
  if (stream.header_bytes > context_->limits.max_header_bytes) {
    stream.refusal = 431;
    if (stream.header_bytes <= kHeaderAbuseFactor * context_->limits.max_header_bytes) return 0;
    Terminate(NGHTTP2_ENHANCE_YOUR_CALM);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  Request& request = *stream.request;
  if (name == ":method")
    request.method = value;
  else if (name == ":path")
    request.target = value;
  else if (name == ":authority")
    request.headers.Set("host", std::string(value));
  else if (name == ":protocol")
    stream.websocket = value == "websocket";
  else if (name[0] != ':' && !(name == "host" && request.headers.Has("host")))
    request.headers.Add(name, std::string(value));
  return 0;
}

void H2ServerSession::OnHeadersComplete(Stream& stream, bool end_stream) {
  Request& request = *stream.request;
  if (stream.refusal == 0 && request.method == "CONNECT" && !stream.websocket) stream.refusal = 400;
  if (stream.refusal == 0 && !NormalizeTarget(request.target)) stream.refusal = 400;
  const std::string_view length = request.headers.Get("content-length");
  if (stream.refusal == 0 && length.size() >= std::to_string(context_->limits.max_body_bytes).size() &&
      std::strtoull(std::string(length).c_str(), nullptr, 10) > context_->limits.max_body_bytes)
    stream.refusal = 413;
  if (stream.websocket) {
    // To handlers a WebSocket is asked for in one way, HTTP/1.1's.
    request.method = "GET";
    request.headers.Set("upgrade", "websocket");
  }
  if (end_stream || stream.websocket) return OnComplete(stream);
  if (stream.refusal != 0) return Refuse(stream, stream.refusal);
  if (EqualsIgnoringCase(request.headers.Get("expect"), "100-continue")) SubmitContinue(stream);
}

int H2ServerSession::OnData(Stream& stream, std::string_view data) {
  if (stream.websocket) {
    if (stream.answer) stream.answer->OnRawBytes(data);
    return 0;
  }
  if (stream.refusal != 0) return Discard(stream, data.size());
  if (stream.request->body.size() + data.size() > context_->limits.max_body_bytes) {
    Refuse(stream, 413);
    return 0;
  }
  stream.request->body.append(data);
  if (!stream.body_share) stream.body_share = std::make_unique<BodyShare>(context_);
  if (!stream.body_share->Resize(stream.request->body.size())) Refuse(stream, 429);
  return 0;
}

// Some clients cannot take an answer before they have sent everything, so a refused upload is read and thrown
// away for a while; then the stream is cut.
int H2ServerSession::Discard(Stream& stream, std::size_t size) {
  stream.discarded += size;
  if (stream.discarded > kDiscardFactor * context_->limits.max_body_bytes)
    nghttp2_submit_rst_stream(h2_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_NO_ERROR);
  return 0;
}

void H2ServerSession::OnComplete(Stream& stream) {
  if (!std::exchange(stream.complete, true)) --receiving_;
  if (stream.refusal != 0 && !stream.answer) return Refuse(stream, stream.refusal);
  if (!stream.answer) ready_.push_back(stream.id);
}

void H2ServerSession::OnEnd(Stream& stream) {
  // A WebSocket's request was complete with its head; this is the peer closing its side.
  if (stream.websocket && stream.answer) stream.answer->End();
  OnComplete(stream);
}

void H2ServerSession::MakeAnswer(Stream& stream) {
  ServerStream::Traits traits;
  traits.id = stream.id;
  traits.no_body = stream.request->method == "HEAD";
  traits.accepts_gzip = AcceptsGzip(stream.request->headers);
  traits.websocket = traits.upgrade = stream.websocket;
  stream.answer = std::make_shared<ServerStream>(channel_.shared_from_this(), context_, std::move(traits));
}

void H2ServerSession::Refuse(Stream& stream, int status) {
  stream.refusal = status;
  stream.body_share.reset();
  stream.request->body = {};
  MakeAnswer(stream);
  stream.answer->FailIfUnanswered(status,
                                  StatusJson(status, ReasonOf(status), MessageOf(status, context_->limits)));
}

void H2ServerSession::OnRoundEnd() {
  DispatchReady();
  if (receiving_ > 0 && sweep_at_ == SteadyTime::max()) sweep_at_ = Now() + context_->limits.head_timeout;
}

void H2ServerSession::DispatchReady() {
  const std::size_t most = context_->limits.max_streams_per_connection;
  while (!ready_.empty() && running_->count < most && !broken_) {
    const std::int32_t id = ready_.front();
    ready_.pop_front();
    if (Stream* stream = Find(id)) StartHandler(*stream);
  }
  if (ready_.size() > kMaxWaitingFactor * most) Terminate(NGHTTP2_ENHANCE_YOUR_CALM);
}

void H2ServerSession::StartHandler(Stream& stream) {
  MakeAnswer(stream);
  any_request_ = true;
  stream.request->peer = peer_;
  if (context_->shutting_down) stream.answer->AnnounceClose();
  if (context_->goaway_chance > 0 && context_->random->Unit() < context_->goaway_chance) Leave();
  const auto answer = stream.answer;  // the handler may end the stream, and with it `stream`
  ++running_->count;
  Dispatch(context_, std::move(stream.request), std::move(stream.body_share), answer,
           [running = running_, loop = channel_.shared_loop(), channel = channel_.shared_from_this()] {
             auto count_out = [running, channel] {
               --running->count;
               if (running->session && !running->session->ready_.empty()) channel->Pump();
             };
             loop->OnThisThread() ? count_out() : loop->Post(count_out);
           });
  if (Stream* still = Find(answer->traits().id)) Update(*still);
}

void H2ServerSession::OnNotified(Notifiable& item) {
  auto& answer = static_cast<ServerStream&>(item);
  Stream* stream = Find(answer.traits().id);
  if (stream && stream->answer.get() == &answer) Update(*stream);
}

void H2ServerSession::Update(Stream& stream) {
  ServerStream& answer = *stream.answer;
  if (!answer.Collect()) return;
  NoteOutput(stream);
  stream.since = Now();
  if (const auto head = answer.TakeHead())
    SubmitHead(stream, *head);
  else if (answer.aborted() && answer.available() == 0)
    nghttp2_submit_rst_stream(h2_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_INTERNAL_ERROR);
  else
    nghttp2_session_resume_data(h2_, stream.id);
}

void H2ServerSession::NoteOutput(Stream& stream) {
  const bool has_output = stream.answer->available() > 0;
  if (std::exchange(stream.has_output, has_output) == has_output) return;
  if (has_output)
    ++with_output_;
  else
    --with_output_;
}

void H2ServerSession::SubmitHead(Stream& stream, const ServerStream::Head& head) {
  thread_local std::vector<nghttp2_nv> fields;
  fields.clear();
  const std::string status = std::to_string(head.status);
  fields.push_back(Field(":status", status));
  for (const auto& [name, value] : head.headers) {
    if (name.starts_with(kTrailerPrefix))
      stream.trailers.Add(std::string_view(name).substr(kTrailerPrefix.size()), value);
    else if (!IsConnectionField(name))
      fields.push_back(Field(name, value));
  }
  if (!head.headers.Has("date")) fields.push_back(Field("date", HttpDate(channel_.loop().clock().Now())));
  nghttp2_data_provider body{};
  body.source.ptr = stream.answer.get();
  body.read_callback = &Callbacks::ReadBody;
  const bool no_body =
      stream.answer->ended() && stream.answer->available() == 0 && stream.trailers.size() == 0;
  nghttp2_submit_response(h2_, stream.id, fields.data(), fields.size(), no_body ? nullptr : &body);
  if (EqualsIgnoringCase(head.headers.Get("connection"), "close")) Leave();
}

bool H2ServerSession::SubmitTrailers(std::int32_t id) {
  const Stream* const stream = Find(id);
  if (!stream || stream->trailers.size() == 0) return false;
  std::vector<nghttp2_nv> fields;
  for (const auto& [name, value] : stream->trailers) fields.push_back(Field(name, value));
  return nghttp2_submit_trailer(h2_, id, fields.data(), fields.size()) == 0;
}

void H2ServerSession::SubmitContinue(Stream& stream) {
  const nghttp2_nv field = Field(":status", "100");
  nghttp2_submit_headers(h2_, NGHTTP2_FLAG_NONE, stream.id, nullptr, &field, 1, nullptr);
}

void H2ServerSession::AppendData(std::int32_t stream_id, std::size_t size, std::string& out) {
  Stream* stream = Find(stream_id);
  stream->since = Now();
  stream->answer->Take(size, out);
  NoteOutput(*stream);
}

void H2ServerSession::Fill(std::string& out, std::size_t limit) {
  H2Session::Fill(out, limit);
  // Whatever is left now waits for the client to open its windows.
  if (out.empty() && with_output_ > 0 && sweep_at_ == SteadyTime::max())
    sweep_at_ = Now() + context_->limits.write_timeout;
}

void H2ServerSession::OnStreamClosed(std::int32_t id) {
  const auto it = streams_.find(id);
  if (it == streams_.end()) return;
  if (!it->second.complete) --receiving_;
  with_output_ -= it->second.has_output ? 1 : 0;
  if (it->second.answer) it->second.answer->PeerGone();
  streams_.erase(it);
  if (streams_.empty()) idle_since_ = Now();
}

void H2ServerSession::Terminate(std::uint32_t code) {
  going_ = true;
  nghttp2_session_terminate_session(h2_, code);
}

bool H2ServerSession::Finished() const {
  if (nghttp2_session_want_write(h2_)) return false;
  return broken_ || (going_ && streams_.empty()) || !nghttp2_session_want_read(h2_);
}

void H2ServerSession::BeginShutdown() {
  for (auto& [id, stream] : streams_)
    if (stream.answer) stream.answer->AnnounceClose();
  Leave();
}

void H2ServerSession::Leave() {
  if (std::exchange(going_, true)) return;
  nghttp2_submit_goaway(h2_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h2_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

SteadyTime H2ServerSession::Deadline() const {
  if (!streams_.empty()) return sweep_at_;
  return idle_since_ + (any_request_ ? context_->limits.idle_timeout : context_->limits.head_timeout);
}

void H2ServerSession::OnDeadline(SteadyTime now) {
  if (streams_.empty())
    BeginShutdown();
  else
    Sweep(now);
}

void H2ServerSession::Sweep(SteadyTime now) {
  const auto& limits = context_->limits;
  bool again = false;
  for (const auto& [id, stream] : streams_) {
    const bool stalled = stream.has_output;
    if (stream.complete && !stalled) continue;
    again = true;
    if (now - stream.since >= (stalled ? limits.write_timeout : limits.head_timeout))
      nghttp2_submit_rst_stream(h2_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  sweep_at_ = again ? now + std::min(limits.head_timeout, limits.write_timeout) : SteadyTime::max();
}

void H2ServerSession::OnClosed(const Error&) {
  broken_ = true;
  ready_.clear();
  auto streams = std::exchange(streams_, {});
  for (auto& [id, stream] : streams)
    if (stream.answer) stream.answer->PeerGone();
}

}  // namespace flyball::net
