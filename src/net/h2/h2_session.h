// H2Session: what the two sides of an HTTP/2 connection share, on nghttp2: bytes in, frames out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/io/channel.h"

struct nghttp2_session;
struct nghttp2_session_callbacks;
struct nghttp2_option;

namespace flyball::net {

// Confined to the channel's loop.
class H2Session : public Session {
 public:
  ~H2Session() override;
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  void OnBytes(std::string_view data) final;
  void OnEndOfInput() override;
  void Fill(std::string& out, std::size_t limit) override;

 protected:
  explicit H2Session(Channel& channel) : channel_(channel) {}

  // Callbacks common to both sides are added; `callbacks` and `option` are freed.
  void Open(bool server, nghttp2_session_callbacks* callbacks, nghttp2_option* option);

  // Appends the payload of a DATA frame of that stream: exactly `size` bytes, promised by its data source.
  virtual void AppendData(std::int32_t stream_id, std::size_t size, std::string& out) = 0;
  // Something has come.
  virtual void OnReceived() {}
  // The peer broke the protocol, or overdid something.
  virtual void OnProtocolError(std::string_view what);

  SteadyTime Now() const { return channel_.loop().clock().Steady(); }

  Channel& channel_;
  nghttp2_session* h2_ = nullptr;
  bool broken_ = false;

 private:
  struct Callbacks;
  std::string* out_ = nullptr;  // while Fill runs
  std::size_t limit_ = 0;       // of what is appended to it
};

}  // namespace flyball::net
