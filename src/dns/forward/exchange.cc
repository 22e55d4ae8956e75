#include "dns/forward/exchange.h"

#include "net/io/udp_socket.h"

namespace flyball::dns {
namespace {

std::string Framed(const std::string& packet) {
  return std::string{static_cast<char>(packet.size() >> 8), static_cast<char>(packet.size() & 0xff)} + packet;
}

// Flow: UDP -> the answer, or truncated -> TCP -> the answer. The timer, which counts for all of it, holds
// the exchange; so does a connection.
class Exchange final : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<ExchangeContext> context, const Upstream& upstream, Message query,
           ExchangeDone done)
      : context_(std::move(context)), upstream_(upstream), query_(std::move(query)), done_(std::move(done)) {
    query_.id = static_cast<std::uint16_t>(context_->random.Next());
    packet_ = Encode(query_, kMaxPacketBytes);
  }

  void Start(Duration timeout) {
    timer_ = context_->loop->PostAfter(timeout, [self = shared_from_this()] {
      self->Finish(Unexpected(Error(Reason::kTimeout, self->upstream_.ToString() + " did not answer")));
    });
    auto socket =
        net::UdpSocket::Connect(*context_->loop, upstream_.ip, upstream_.port,
                                [weak = weak_from_this()](std::string_view datagram, const net::UdpPath&) {
                                  if (const auto self = weak.lock()) self->OnDatagram(datagram);
                                });
    if (!socket) return FinishLater(socket.error());
    socket_ = std::move(*socket);
    if (!socket_->Send(packet_))
      FinishLater(Error(Reason::kConnection, upstream_.ToString() + " is not reachable"));
  }

 private:
  bool IsAnswer(const Message& message) const {
    return message.response && message.id == query_.id && message.opcode == query_.opcode &&
           message.question == query_.question;
  }

  void OnDatagram(std::string_view datagram) {
    Message message;
    if (!done_ || Parse(datagram, message) == Parsed::kNotDns || !IsAnswer(message)) return;
    if (message.truncated) return AskByTcp();
    if (Parse(datagram, message) == Parsed::kOk) Finish(std::move(message));
  }

  void AskByTcp() {
    socket_->Close();
    if (std::exchange(by_tcp_, true)) return;
    context_->dialer.Dial(upstream_.ip, upstream_.port,
                          [self = shared_from_this()](Result<std::shared_ptr<net::Duplex>> connection) {
                            if (!self->done_) return connection ? (*connection)->Abort() : void();
                            if (!connection) return self->Finish(Unexpected(connection.error()));
                            self->connection_ = *connection;
                            self->ReadConnection();
                          });
  }

  void ReadConnection() {
    connection_->Read(
        [weak = weak_from_this()](std::string_view data) {
          if (const auto self = weak.lock()) self->OnBytes(data);
        },
        [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->OnEnd();
        });
    connection_->Write(MakeBytes(Framed(packet_)));
  }

  void OnBytes(std::string_view data) {
    if (!done_) return;
    received_.append(data);
    if (received_.size() < 2) return;
    const std::size_t size =
        static_cast<unsigned char>(received_[0]) << 8 | static_cast<unsigned char>(received_[1]);
    if (received_.size() < 2 + size) return;
    Message message;
    if (Parse(std::string_view(received_).substr(2, size), message) != Parsed::kOk || !IsAnswer(message))
      return Finish(Unexpected(Error(Reason::kConnection, upstream_.ToString() + " sent no answer")));
    Finish(std::move(message));
  }

  void OnEnd() {
    Finish(Unexpected(Error(Reason::kConnection, upstream_.ToString() + " closed the connection")));
  }

  // The caller gets no answer before its call has returned.
  void FinishLater(const Error& error) {
    context_->loop->Post([self = shared_from_this(), error] { self->Finish(Unexpected(error)); });
  }

  void Finish(Result<Message> result) {
    if (!done_) return;
    context_->loop->Cancel(timer_);
    if (socket_) socket_->Close();
    if (connection_) connection_->Abort();
    auto done = std::exchange(done_, nullptr);
    done(std::move(result));
  }

  const std::shared_ptr<ExchangeContext> context_;
  const Upstream upstream_;
  Message query_;
  ExchangeDone done_;
  std::string packet_;
  TimerId timer_ = kNoTimer;
  std::unique_ptr<net::UdpSocket> socket_;
  bool by_tcp_ = false;
  std::shared_ptr<net::Duplex> connection_;
  std::string received_;
};

}  // namespace

void AskUpstream(std::shared_ptr<ExchangeContext> context, const Upstream& upstream, Message query,
                 Duration timeout, ExchangeDone done) {
  std::make_shared<Exchange>(std::move(context), upstream, std::move(query), std::move(done))->Start(timeout);
}

}  // namespace flyball::dns
