#include "net/h2/h2_session.h"

#include <nghttp2/nghttp2.h>

#include "net/h2/h2_memory.h"

namespace flyball::net {

struct H2Session::Callbacks {
  static int SendData(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t length,
                      nghttp2_data_source*, void* user) {
    auto& self = *static_cast<H2Session*>(user);
    // Within one call nghttp2 goes on with everything the windows allow: of a peer that opened them wide and
    // reads nothing, all that its streams are owed. It asks again for what is put off here.
    if (self.out_->size() >= self.limit_) return NGHTTP2_ERR_WOULDBLOCK;
    constexpr std::size_t kFrameHead = 9;
    self.out_->append(reinterpret_cast<const char*>(head), kFrameHead);
    self.AppendData(frame->hd.stream_id, length, *self.out_);
    return 0;
  }
};

H2Session::~H2Session() {
  nghttp2_session_del(h2_);
}

void H2Session::Open(bool server, nghttp2_session_callbacks* callbacks, nghttp2_option* option) {
  nghttp2_session_callbacks_set_send_data_callback(callbacks, &Callbacks::SendData);
  if (server)
    nghttp2_session_server_new3(&h2_, callbacks, this, option, LazyH2Memory());
  else
    nghttp2_session_client_new3(&h2_, callbacks, this, option, LazyH2Memory());
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
}

void H2Session::OnBytes(std::string_view data) {
  if (broken_) return;
  OnReceived();
  const ssize_t taken =
      nghttp2_session_mem_recv(h2_, reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
  if (taken < 0) OnProtocolError(nghttp2_strerror(static_cast<int>(taken)));
}

void H2Session::OnProtocolError(std::string_view what) {
  broken_ = true;
  channel_.Close(Error(Reason::kConnection, "http2: " + std::string(what)));
}

void H2Session::OnEndOfInput() {
  channel_.Close(Error(Reason::kConnection, "http2: the peer closed the connection"));
}

void H2Session::Fill(std::string& out, std::size_t limit) {
  out_ = &out;
  limit_ = limit;
  while (!broken_ && out.size() < limit) {
    const std::uint8_t* data = nullptr;
    const std::size_t before = out.size();
    const ssize_t n = nghttp2_session_mem_send(h2_, &data);
    if (n < 0) OnProtocolError(nghttp2_strerror(static_cast<int>(n)));
    if (n > 0) out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
    if (out.size() == before) break;
  }
  out_ = nullptr;
}

}  // namespace flyball::net
