#include "net/io/listener.h"

#include "base/observe/log.h"
#include "base/run/notification.h"
#include "net/io/asio.h"

namespace flyball::net {

namespace {

// Out of descriptors: taking a rest lets connections end; the kernel keeps the new ones in its queue.
constexpr Duration kRest = std::chrono::milliseconds(50);
constexpr int kBacklog = 4096;

using boost::asio::ip::tcp;

}  // namespace

struct Listener::Acceptor : std::enable_shared_from_this<Acceptor> {
  Acceptor(IoLoop& l, std::function<void(int)> fn)
      : loop(l), acceptor(l.context()), accepted(std::move(fn)) {}

  void AcceptNext() {
    acceptor.async_accept(
        [self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
          self->OnAccept(error, std::move(socket));
        });
  }

  void OnAccept(const boost::system::error_code& error, tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (!error) {
      boost::system::error_code failed;
      const int fd = socket.release(failed);
      if (!failed) accepted(fd);
      return AcceptNext();
    }
    if (error == boost::asio::error::connection_aborted) return AcceptNext();
    log::Warning("cannot accept a connection", {{"error", error.message()}});
    loop.PostAfter(kRest, [self = shared_from_this()] {
      if (self->acceptor.is_open()) self->AcceptNext();
    });
  }

  IoLoop& loop;
  tcp::acceptor acceptor;
  std::function<void(int)> accepted;
};

Result<std::unique_ptr<Listener>> Listener::Open(IoLoop& loop, const std::string& address, int port,
                                                 std::function<void(int)> accepted) {
  boost::system::error_code error;
  const auto ip = boost::asio::ip::make_address(address, error);
  if (error) return Unexpected(BadRequest("not an IP address: " + address));
  if (port < 0 || port > 65535) return Unexpected(BadRequest("not a port: " + std::to_string(port)));
  const tcp::endpoint endpoint(ip, static_cast<unsigned short>(port));
  std::unique_ptr<Listener> listener(new Listener(loop));
  listener->acceptor_ = std::make_shared<Acceptor>(loop, std::move(accepted));
  tcp::acceptor& acceptor = listener->acceptor_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error)
    return Unexpected(
        InternalError("cannot listen on " + address + ":" + std::to_string(port) + ": " + error.message()));
  loop.Post([a = listener->acceptor_] { a->AcceptNext(); });
  return listener;
}

Listener::~Listener() = default;

int Listener::port() const {
  boost::system::error_code ignored;
  return acceptor_->acceptor.local_endpoint(ignored).port();
}

void Listener::Close() {
  auto done = std::make_shared<Notification<bool>>();
  loop_.Post([a = acceptor_, done] {
    boost::system::error_code ignored;
    a->acceptor.close(ignored);
    done->Set(true);
  });
  done->Wait();
}

}  // namespace flyball::net
