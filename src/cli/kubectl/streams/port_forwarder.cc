#include "cli/kubectl/streams/port_forwarder.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/run/mutex.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/streams/wake_up.h"

namespace flyball::cli {
namespace {

constexpr std::size_t kForwardChunk = 32 * 1024;
constexpr std::size_t kMostWaiting = 1 << 20;  // on its way to the pod; more is not read from the client
// A message of the pod is at most this far ahead of what its client has taken.
constexpr std::size_t kMostUnread = 4 << 20;
constexpr char kDataChannel = 0, kErrorChannel = 1;
constexpr std::size_t kPortBytes = 2;  // each channel begins with the number of its port

Error SystemError(const std::string& what) {
  return LocalError(what + ": " + std::strerror(errno));
}

void MakeNonBlocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

// What the WebSocket's thread and the forwarding thread share. Thread-safe.
struct Tunnel {
  const WakeUp wake;
  Mutex mutex;
  std::shared_ptr<net::WebSocket> socket FLYBALL_GUARDED_BY(mutex);
  std::string unread FLYBALL_GUARDED_BY(mutex);   // from the pod, not yet written to the client
  std::string problem FLYBALL_GUARDED_BY(mutex);  // from the pod, or why there is no WebSocket
  bool ended FLYBALL_GUARDED_BY(mutex) = false;   // nothing more comes from the pod
  std::array<std::size_t, 2> skip FLYBALL_GUARDED_BY(mutex){kPortBytes, kPortBytes};

  void OnMessage(std::string_view message) {
    if (message.empty()) return;
    const MutexLock lock(mutex);
    const char channel = message[0];
    message.remove_prefix(1);
    if (channel != kDataChannel && channel != kErrorChannel) return;
    std::size_t& prefix = skip[static_cast<std::size_t>(channel)];
    const std::size_t taken = std::min(prefix, message.size());
    prefix -= taken;
    message.remove_prefix(taken);
    (channel == kDataChannel ? unread : problem).append(message);
    if (unread.size() > kMostUnread && socket) socket->Pause();
    wake.Ring();
  }
  void OnEnd(std::string_view reason) {
    const MutexLock lock(mutex);
    ended = true;
    if (problem.empty()) problem = reason;
    wake.Ring();
  }
};

}  // namespace

class PortForwarder::Connection {
 public:
  Connection(Session& session, const std::string& path, int client, std::uint16_t port)
      : client_(client), port_(port), tunnel_(std::make_shared<Tunnel>()) {
    MakeNonBlocking(client_);
    RestRequest request;
    request.path = path;
    request.Query("ports", std::to_string(port));
    session.rest().OpenWebSocket(std::move(request), {"v4.channel.k8s.io"},
                                 [tunnel = tunnel_](Result<std::shared_ptr<net::WebSocket>> opened) {
                                   if (!opened) return tunnel->OnEnd(opened.error().message());
                                   Attach(tunnel, *opened);
                                 });
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    ::close(client_);
    const MutexLock lock(tunnel_->mutex);
    if (tunnel_->socket) tunnel_->socket->Close(1000, "");
  }

  // What poll should wait for: the client, then the tunnel.
  std::array<pollfd, 2> Waits() const {
    const MutexLock lock(tunnel_->mutex);
    short events = 0;
    if (!client_ended_ && tunnel_->socket && tunnel_->socket->pending_bytes() < kMostWaiting)
      events |= POLLIN;
    if (!tunnel_->unread.empty()) events |= POLLOUT;
    return {{{client_, events, 0}, {tunnel_->wake.descriptor(), POLLIN, 0}}};
  }
  // False once it is over.
  bool Serve(const pollfd& client, Session& session) {
    tunnel_->wake.Clear();
    if ((client.revents & (POLLIN | POLLHUP)) != 0 && !client_ended_) ReadClient();
    const MutexLock lock(tunnel_->mutex);
    if ((client.revents & POLLERR) != 0 || !WriteClient()) return false;
    if (!tunnel_->ended || !tunnel_->unread.empty()) return !(client_ended_ && tunnel_->ended);
    if (!tunnel_->problem.empty())
      session.err() << "an error occurred forwarding to port " << port_ << ": " << tunnel_->problem << "\n";
    return false;
  }

 private:
  static void Attach(const std::shared_ptr<Tunnel>& tunnel, const std::shared_ptr<net::WebSocket>& socket) {
    socket->OnMessage([tunnel](net::WebSocket::Type, std::string message) { tunnel->OnMessage(message); });
    socket->OnClose([tunnel] { tunnel->OnEnd(""); });
    const MutexLock lock(tunnel->mutex);
    tunnel->socket = socket;
    tunnel->wake.Ring();
  }
  void ReadClient() {
    std::array<char, kForwardChunk> buffer;
    const auto size = ::read(client_, buffer.data(), buffer.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const MutexLock lock(tunnel_->mutex);
    if (!tunnel_->socket) return;
    if (size <= 0) {
      client_ended_ = true;
      tunnel_->socket->Close(1000, "");
      return;
    }
    std::string message(1, kDataChannel);
    message.append(buffer.data(), static_cast<std::size_t>(size));
    tunnel_->socket->Send(net::WebSocket::Type::kBinary, std::move(message));
  }
  bool WriteClient() FLYBALL_REQUIRES(tunnel_->mutex) {
    std::string& unread = tunnel_->unread;
    if (unread.empty()) return true;
    const auto written = ::send(client_, unread.data(), unread.size(), MSG_NOSIGNAL);
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    unread.erase(0, static_cast<std::size_t>(written));
    if (unread.empty() && tunnel_->socket) tunnel_->socket->Resume();
    return true;
  }

  const int client_;
  const std::uint16_t port_;
  const std::shared_ptr<Tunnel> tunnel_;
  bool client_ended_ = false;
};

PortForwarder::PortForwarder(Session& session, std::string path)
    : session_(session), path_(std::move(path)) {}

PortForwarder::~PortForwarder() {
  for (const Listener& listener : listeners_) ::close(listener.descriptor);
}

Status PortForwarder::Listen(const std::string& address, const PortPair& ports) {
  const bool v6 = address.find(':') != std::string::npos;
  const std::string shown = (v6 ? "[" + address + "]" : address) + ":";
  const int descriptor = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return Unexpected(SystemError("unable to create listener"));
  Listener listener{descriptor, ports};
  const int yes = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_storage storage{};
  socklen_t length = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  auto* v4_address = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6_address = reinterpret_cast<sockaddr_in6*>(&storage);
  storage.ss_family = v6 ? AF_INET6 : AF_INET;
  (v6 ? v6_address->sin6_port : v4_address->sin_port) = htons(ports.local);
  ::inet_pton(storage.ss_family, address.c_str(),
              v6 ? static_cast<void*>(&v6_address->sin6_addr) : static_cast<void*>(&v4_address->sin_addr));
  if (v6) ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&storage), length) != 0 ||
      ::listen(descriptor, SOMAXCONN) != 0) {
    const Error error =
        SystemError("unable to create listener: Error listen tcp" + std::string(v6 ? "6" : "4") + " " +
                    shown + std::to_string(ports.local) + ": bind");
    ::close(descriptor);
    return Unexpected(error);
  }
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &length);
  listener.ports.local = ntohs(v6 ? v6_address->sin6_port : v4_address->sin_port);
  listeners_.push_back(listener);
  MakeNonBlocking(descriptor);
  session_.out() << "Forwarding from " << shown << listener.ports.local << " -> " << ports.remote << "\n"
                 << std::flush;
  return {};
}

void PortForwarder::Accept(const Listener& listener) {
  const int client = ::accept4(listener.descriptor, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  session_.out() << "Handling connection for " << listener.ports.local << "\n" << std::flush;
  connections_.push_back(std::make_unique<Connection>(session_, path_, client, listener.ports.remote));
}

Status PortForwarder::Run() {
  for (;;) {
    std::vector<pollfd> waits;
    for (const Listener& listener : listeners_) waits.push_back({listener.descriptor, POLLIN, 0});
    for (const auto& connection : connections_)
      for (const pollfd& wait : connection->Waits()) waits.push_back(wait);
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR)
      return Unexpected(SystemError("waiting for connections"));
    std::size_t at = listeners_.size();
    for (auto it = connections_.begin(); it != connections_.end(); at += 2)
      it = (*it)->Serve(waits[at], session_) ? std::next(it) : connections_.erase(it);
    for (std::size_t i = 0; i < listeners_.size(); ++i)
      if (waits[i].revents != 0) Accept(listeners_[i]);
  }
}

}  // namespace flyball::cli
