#include "net/io/listener.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/observe/log.h"
#include "base/run/notification.h"
#include "net/io/asio.h"

namespace flyball::net {

namespace {

// Out of descriptors: taking a rest lets connections end; the kernel keeps the new ones in its queue.
constexpr Duration kRest = std::chrono::milliseconds(50);
constexpr int kBacklog = 4096;

using boost::asio::ip::tcp;
// TCP or Unix.
using StreamProtocol = boost::asio::generic::stream_protocol;
using StreamAcceptor = boost::asio::basic_socket_acceptor<StreamProtocol>;

constexpr std::string_view kUnixScheme = "unix://";

Result<StreamProtocol::endpoint> EndpointOf(const std::string& address, int port) {
  if (address.starts_with(kUnixScheme)) {
    const std::string path = address.substr(kUnixScheme.size());
    if (path.size() >= sizeof(sockaddr_un::sun_path)) return Unexpected(BadRequest("too long: " + address));
    return StreamProtocol::endpoint(boost::asio::local::stream_protocol::endpoint(path));
  }
  boost::system::error_code error;
  const auto ip = boost::asio::ip::make_address(address, error);
  if (error) return Unexpected(BadRequest("not an IP address: " + address));
  if (port < 0 || port > 65535) return Unexpected(BadRequest("not a port: " + std::to_string(port)));
  return StreamProtocol::endpoint(tcp::endpoint(ip, static_cast<unsigned short>(port)));
}

}  // namespace

struct Listener::Acceptor : std::enable_shared_from_this<Acceptor> {
  Acceptor(IoLoop& l, std::function<void(int)> fn)
      : loop(l), acceptor(l.context()), accepted(std::move(fn)) {}

  void AcceptNext() {
    acceptor.async_accept(
        [self = shared_from_this()](const boost::system::error_code& error, StreamProtocol::socket socket) {
          self->OnAccept(error, std::move(socket));
        });
  }

  void OnAccept(const boost::system::error_code& error, StreamProtocol::socket socket) {
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
  StreamAcceptor acceptor;
  std::function<void(int)> accepted;
};

Result<std::unique_ptr<Listener>> Listener::Open(IoLoop& loop, const std::string& address, int port,
                                                 std::function<void(int)> accepted) {
  FLYBALL_ASSIGN(const StreamProtocol::endpoint endpoint, EndpointOf(address, port));
  std::unique_ptr<Listener> listener(new Listener(loop));
  listener->acceptor_ = std::make_shared<Acceptor>(loop, std::move(accepted));
  StreamAcceptor& acceptor = listener->acceptor_->acceptor;
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(StreamAcceptor::reuse_address(true), error);
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
  const auto endpoint = acceptor_->acceptor.local_endpoint(ignored);
  // A port is at the same place of both kinds of addresses; Unix sockets have none.
  if (ignored || endpoint.protocol().family() == AF_UNIX) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in*>(endpoint.data())->sin_port);
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
