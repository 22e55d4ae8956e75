#include "net/h2/h2_client.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace flyball::net {

namespace {

// As Go's client: a list of many megabytes must not wait for window updates.
constexpr std::int32_t kClientStreamWindow = 4 << 20;
constexpr std::int32_t kClientConnectionWindow = 1 << 30;
constexpr std::uint32_t kMaxHeaderList = 256u << 10;
constexpr Duration kSessionIdleTimeout = std::chrono::seconds(90);

nghttp2_nv ClientField(std::string_view name, std::string_view value) {
  auto* n = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(name.data()));
  auto* v = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(value.data()));
  return {n, v, name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

bool BelongsToHttp1(std::string_view name) {
  return name == "host" || name == "connection" || name == "transfer-encoding" || name == "keep-alive" ||
         name == "upgrade" || name == "proxy-connection" || name == "content-length";
}

std::string_view Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

struct H2ClientSession::Callbacks {
  static H2ClientSession& Self(void* user) { return *static_cast<H2ClientSession*>(user); }

  static int Header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                    void* user) {
    Stream* stream = Self(user).Find(frame->hd.stream_id);
    if (!stream) return 0;
    const std::string_view n = Text(name, name_size), v = Text(value, value_size);
    if (n == ":status")
      std::from_chars(v.data(), v.data() + v.size(), stream->status);
    else
      stream->headers.Add(n, std::string(v));
    return 0;
  }

  static int FrameReceived(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& self = Self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) self.Leave();
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK))
      self.ping_sent_ = SteadyTime::max();
    if (frame->hd.type == NGHTTP2_SETTINGS) self.room_made_ = true;
    Stream* stream = self.Find(frame->hd.stream_id);
    if (!stream) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS) self.OnHeadersComplete(*stream);
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
      stream->ended = true;
    return 0;
  }

  static int DataChunk(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                       std::size_t size, void* user) {
    Self(user).OnData(id, Text(data, size));
    return 0;
  }

  static int StreamClosed(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    Self(user).OnStreamClosed(id, code);
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t length,
                          std::uint32_t* flags, nghttp2_data_source*, void* user) {
    const Stream* stream = Self(user).Find(id);
    if (!stream) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const Upload* const upload = stream->call->upload();
    // The end first: what is pending after it is all there will be.
    const bool ends = !upload || upload->ended();
    const std::size_t left =
        upload ? upload->pending() : stream->call->request().body.size() - stream->body_sent;
    const std::size_t n = std::min(length, left);
    if (n == 0 && !ends) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (n == left && ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }
};

H2ClientSession::H2ClientSession(Channel& channel, std::shared_ptr<const ClientContext> context,
                                 std::shared_ptr<ConnectionOwner> owner)
    : H2Session(channel), context_(std::move(context)), owner_(std::move(owner)), last_received_(Now()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::Header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::FrameReceived);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::DataChunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::StreamClosed);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  Open(false, callbacks, option);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kClientStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHeaderList},
  };
  nghttp2_submit_settings(h2_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(h2_, NGHTTP2_FLAG_NONE, 0, kClientConnectionWindow);
}

H2ClientSession::~H2ClientSession() = default;

H2ClientSession::Stream* H2ClientSession::Find(std::int32_t id) {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : &it->second;
}

std::size_t H2ClientSession::capacity() const {
  if (going_ || broken_ || !nghttp2_session_check_request_allowed(h2_)) return 0;
  const std::uint32_t allowed =
      nghttp2_session_get_remote_settings(h2_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  // Before its SETTINGS have come nobody knows; most servers allow 100 and more.
  constexpr std::uint32_t kAssumed = 100;
  const std::size_t most = allowed == UINT32_MAX ? kAssumed : allowed;
  return streams_.size() < most ? most - streams_.size() : 0;
}

void H2ClientSession::Submit(std::shared_ptr<ClientCall> call) {
  const Request& request = call->request();
  const Origin& origin = context_->origin;
  const std::string path = origin.path_prefix + request.target;
  const std::string authority =
      request.headers.Has("host") ? std::string(request.headers.Get("host")) : origin.authority();
  const std::string length = std::to_string(request.body.size());
  std::vector<nghttp2_nv> fields;
  fields.push_back(ClientField(":method", request.method));
  fields.push_back(ClientField(":scheme", origin.tls ? "https" : "http"));
  fields.push_back(ClientField(":authority", authority));
  fields.push_back(ClientField(":path", path));
  for (const auto& [name, value] : request.headers)
    if (!BelongsToHttp1(name)) fields.push_back(ClientField(name, value));
  const bool has_body = call->upload() || !request.body.empty();
  if (has_body && !call->upload()) fields.push_back(ClientField("content-length", length));
  nghttp2_data_provider body{};
  body.read_callback = &Callbacks::ReadBody;
  const std::int32_t id =
      nghttp2_submit_request(h2_, nullptr, fields.data(), fields.size(), has_body ? &body : nullptr, nullptr);
  if (id < 0) {
    Leave();
    return owner_->Retry(std::move(call), Error(Reason::kConnection, nghttp2_strerror(id)));
  }
  call->Submitted(*this, id);
  if (streams_.empty()) last_received_ = Now();  // silence counts from now on
  streams_[id].call = call;
  channel_.Notify(std::move(call));
}

void H2ClientSession::Drop(ClientCall& call) {
  nghttp2_submit_rst_stream(h2_, NGHTTP2_FLAG_NONE, call.stream_id, NGHTTP2_CANCEL);
  channel_.Notify(call.shared_from_this());
}

void H2ClientSession::OnPauseChanged(ClientCall& call) {
  Stream* stream = Find(call.stream_id);
  if (!stream || call.paused()) return;
  nghttp2_session_consume_stream(h2_, call.stream_id, std::exchange(stream->unconsumed, 0));
  channel_.Notify(call.shared_from_this());
}

void H2ClientSession::OnUploadGrown(ClientCall& call) {
  nghttp2_session_resume_data(h2_, call.stream_id);  // refused if it was not waiting
  channel_.Notify(call.shared_from_this());
}

void H2ClientSession::OnReceived() {
  last_received_ = Now();
}

void H2ClientSession::OnHeadersComplete(Stream& stream) {
  const Headers headers = std::exchange(stream.headers, {});
  if (stream.call->head_seen())
    stream.call->Trailers(headers);
  else if (stream.status >= 200)
    stream.call->Head(stream.status, headers);
}

void H2ClientSession::OnData(std::int32_t id, std::string_view data) {
  nghttp2_session_consume_connection(h2_, data.size());
  Stream* stream = Find(id);
  if (!stream) return;
  if (stream->call->paused())
    stream->unconsumed += data.size();
  else
    nghttp2_session_consume_stream(h2_, id, data.size());
  stream->call->Data(data);
}

void H2ClientSession::AppendData(std::int32_t stream_id, std::size_t size, std::string& out) {
  Stream* stream = Find(stream_id);
  if (Upload* const upload = stream->call->upload()) return upload->Take(size, out);
  out.append(stream->call->request().body, stream->body_sent, size);
  stream->body_sent += size;
}

void H2ClientSession::OnStreamClosed(std::int32_t id, std::uint32_t code) {
  const auto it = streams_.find(id);
  if (it == streams_.end()) return;
  const Stream stream = std::move(it->second);
  streams_.erase(it);
  room_made_ = true;
  ClientCall& call = *stream.call;
  if (stream.ended && call.head_seen()) return call.End();
  const Error error(Reason::kConnection,
                    std::string("http2: stream closed: ") + nghttp2_http2_strerror(code));
  if (code == NGHTTP2_REFUSED_STREAM && !call.head_seen() && !call.ended())
    owner_->Retry(stream.call, error);
  else
    call.Fail(error);
}

void H2ClientSession::OnRoundEnd() {
  if (std::exchange(room_made_, false) && !going_) owner_->OnCapacity(*this);
}

void H2ClientSession::Leave() {
  if (std::exchange(going_, true)) return;
  owner_->OnGoing(*this);
}

bool H2ClientSession::Finished() const {
  return (going_ && streams_.empty() && !nghttp2_session_want_write(h2_)) ||
         (!nghttp2_session_want_read(h2_) && !nghttp2_session_want_write(h2_));
}

SteadyTime H2ClientSession::Deadline() const {
  if (ping_sent_ != SteadyTime::max()) return ping_sent_ + context_->options.ping_timeout;
  if (streams_.empty()) return last_received_ + kSessionIdleTimeout;
  return context_->options.ping_interval > Duration::zero() ? last_received_ + context_->options.ping_interval
                                                            : SteadyTime::max();
}

void H2ClientSession::OnDeadline(SteadyTime now) {
  if (ping_sent_ != SteadyTime::max())
    return channel_.Close(Error(Reason::kConnection, "http2: client connection lost"));
  if (streams_.empty()) return Leave();
  ping_sent_ = now;
  nghttp2_submit_ping(h2_, NGHTTP2_FLAG_NONE, nullptr);
}

void H2ClientSession::OnClosed(const Error& error) {
  Leave();
  broken_ = true;
  auto streams = std::exchange(streams_, {});
  for (auto& [id, stream] : streams) stream.call->Fail(error);
}

}  // namespace flyball::net
