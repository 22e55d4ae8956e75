// MessageStream: a response whose body goes to the client as messages of a WebSocket (upstream:
// wsstream.Reader). What is no success is answered as any other request is.
#pragma once

#include <memory>
#include <string>

#include "net/http/http.h"

namespace flyball::server {

// Confined as the stream it is made of is. OnClose keeps the last function only.
class MessageStream final : public net::ResponseStream {
 public:
  // The request asks for a WebSocket. Of the protocols that it offers the first that is known is spoken:
  // `binary.k8s.io`, or `base64.binary.k8s.io` for clients that only read text; else none, which is binary.
  MessageStream(std::shared_ptr<net::ResponseStream> stream, const net::Request& request);

  void Send(int status, net::Headers headers, std::string body) override;
  void Begin(int status, net::Headers headers) override;
  bool Write(Bytes chunk) override;
  void End() override;
  std::size_t pending_bytes() const override;
  void OnDrained(std::size_t low, Closure fn) override;
  void OnClose(Closure fn) override;
  bool closed() const override { return stream_->closed(); }
  Result<std::shared_ptr<net::WebSocket>> AcceptWebSocket(std::string_view subprotocol) override {
    return stream_->AcceptWebSocket(subprotocol);
  }
  Executor& executor() override { return stream_->executor(); }

 private:
  const std::shared_ptr<net::ResponseStream> stream_;
  std::string protocol_;
  bool base64_ = false;
  std::shared_ptr<net::WebSocket> socket_;  // once the response has begun well
  std::shared_ptr<Closure> closed_;         // told of the client's end, of whichever it has
};

}  // namespace flyball::server
