#include "net/io/connector.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "base/values/ascii.h"
#include "net/io/asio.h"

namespace flyball::net {

namespace {

using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kMaxProxyHead = 16u << 10;

Result<std::vector<tcp::endpoint>> LookUp(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  if (const int code = getaddrinfo(host.c_str(), nullptr, &hints, &list); code != 0)
    return Unexpected(Error(Reason::kConnection, "cannot look up " + host + ": " + gai_strerror(code)));
  std::vector<tcp::endpoint> endpoints;
  for (const addrinfo* at = list; at; at = at->ai_next) {
    tcp::endpoint endpoint;
    endpoint.resize(at->ai_addrlen);
    std::copy_n(reinterpret_cast<const char*>(at->ai_addr), at->ai_addrlen,
                reinterpret_cast<char*>(endpoint.data()));
    endpoint.port(static_cast<unsigned short>(port));
    endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  return endpoints;
}

Unexpected UnixError(const std::string& path, int code) {
  return Unexpected(Error(Reason::kConnection, "dial unix " + path + ": connect: " +
                                                   LowerCase(std::generic_category().message(code))));
}

// Connecting to a Unix socket either works at once or not at all.
Result<int> ConnectUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return UnixError(path, ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return UnixError(path, errno);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  const int code = errno;
  ::close(fd);
  return UnixError(path, code);
}

}  // namespace

// Flow: (addresses known) -> TryNext ... -> connected -> (proxy: CONNECT, its answer) -> Finish.
struct Connector::Attempt : std::enable_shared_from_this<Attempt> {
  Attempt(std::shared_ptr<IoLoop> l, UniqueFunction<void(Result<int>)> fn, const Origin& target,
          const Origin& via)
      : loop(std::move(l)), done(std::move(fn)), host(via.host), port(via.port) {
    if (&target == &via) return;
    const std::string authority =
        (target.host.find(':') == std::string::npos ? target.host : "[" + target.host + "]") + ":" +
        std::to_string(target.port);
    proxy_request = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n";
  }

  // Keeps it alive until it is finished or the loop drops it.
  void StartTimer(Duration timeout) {
    timer = loop->PostAfter(timeout, [self = shared_from_this()] {
      self->Finish(Unexpected(Error(Reason::kTimeout, "connecting to " + self->Where() + " timed out")));
    });
  }

  std::string Where() const { return host + ":" + std::to_string(port); }

  void TryNext() {
    if (!done) return;
    if (next == endpoints.size())
      return Finish(
          Unexpected(Error(Reason::kConnection, "dial tcp " + Where() + ": connect: " + last_error)));
    socket.emplace(loop->context());
    socket->async_connect(endpoints[next++], [self = shared_from_this()](const ErrorCode& error) {
      if (!self->done) return;
      if (error) {
        self->last_error =
            error == boost::asio::error::connection_refused ? "connection refused" : error.message();
        return self->TryNext();
      }
      self->proxy_request.empty() ? self->FinishConnected() : self->AskProxy();
    });
  }

  void AskProxy() {
    boost::asio::async_write(*socket, boost::asio::buffer(proxy_request),
                             [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                               if (!self->done) return;
                               error ? self->FailProxy(error.message()) : self->ReadProxyAnswer();
                             });
  }

  // One byte at a time: what follows the head belongs to the origin.
  void ReadProxyAnswer() {
    socket->async_read_some(boost::asio::buffer(&byte, 1),
                            [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                              if (!self->done) return;
                              error ? self->FailProxy(error.message()) : self->OnProxyByte();
                            });
  }

  void OnProxyByte() {
    answer += byte;
    if (!answer.ends_with("\r\n\r\n"))
      return answer.size() < kMaxProxyHead ? ReadProxyAnswer() : FailProxy("its answer is too long");
    const bool ok = answer.starts_with("HTTP/1.") && answer.size() > 12 && answer.substr(9, 3) == "200";
    ok ? FinishConnected() : FailProxy(answer.substr(0, answer.find('\r')));
  }

  void FailProxy(const std::string& why) {
    Finish(Unexpected(Error(Reason::kConnection, "proxy " + Where() + ": " + why)));
  }

  void FinishConnected() {
    ErrorCode error;
    const int fd = socket->release(error);
    if (error) return Finish(Unexpected(Error(Reason::kConnection, error.message())));
    Finish(fd);
  }

  void Finish(Result<int> result) {
    if (!done) return;
    loop->Cancel(timer);
    socket.reset();
    std::exchange(done, nullptr)(std::move(result));
  }

  const std::shared_ptr<IoLoop> loop;
  UniqueFunction<void(Result<int>)> done;
  const std::string host;
  const int port;
  std::string proxy_request;
  std::vector<tcp::endpoint> endpoints;
  std::size_t next = 0;
  std::optional<tcp::socket> socket;
  std::string last_error = "no address";
  TimerId timer = kNoTimer;
  char byte = 0;
  std::string answer;
};

Connector::Connector(Origin origin, std::unique_ptr<Origin> proxy, Duration timeout)
    : origin_(std::move(origin)), proxy_(std::move(proxy)), timeout_(timeout) {}

Connector::~Connector() = default;

void Connector::Connect(std::shared_ptr<IoLoop> loop, UniqueFunction<void(Result<int>)> done) {
  const Origin& via = proxy_ ? *proxy_ : origin_;
  if (!via.socket_path.empty())
    return loop->Post(
        [path = via.socket_path, done = std::move(done)]() mutable { done(ConnectUnix(path)); });
  auto attempt = std::make_shared<Attempt>(loop, std::move(done), origin_, via);
  ErrorCode not_numeric;
  const auto address = boost::asio::ip::make_address(via.host, not_numeric);
  if (not_numeric) return Resolve(attempt);
  attempt->endpoints.emplace_back(address, static_cast<unsigned short>(via.port));
  loop->Post([attempt, timeout = timeout_] {
    attempt->StartTimer(timeout);
    attempt->TryNext();
  });
}

// The resolver's thread never holds the attempt itself: what the attempt owns may own this connector, and a
// thread cannot wait for its own end.
void Connector::Resolve(const std::shared_ptr<Attempt>& attempt) {
  attempt->loop->Post([attempt, timeout = timeout_] { attempt->StartTimer(timeout); });
  MutexLock lock(mu_);
  if (!resolver_) resolver_ = std::make_unique<ThreadPool>("resolver", 1);
  resolver_->Post(
      [weak = std::weak_ptr(attempt), loop = attempt->loop, host = attempt->host, port = attempt->port] {
        auto endpoints = LookUp(host, port);
        loop->Post([weak, endpoints = std::move(endpoints)] {
          const auto self = weak.lock();
          if (!self || !self->done) return;
          if (!endpoints) return self->Finish(Unexpected(endpoints.error()));
          self->endpoints = *endpoints;
          self->TryNext();
        });
      });
}

}  // namespace flyball::net
