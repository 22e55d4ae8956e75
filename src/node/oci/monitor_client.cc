#include "node/oci/monitor_client.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "base/run/mutex.h"
#include "base/run/thread.h"
#include "node/monitor/monitor_protocol.h"

namespace flyball::node {
namespace {

constexpr int kMonitorSendBuffer = 1 << 20;

struct MonitorPacket {
  char letter = 0;
  std::vector<std::string_view> fields;
  std::string_view rest;  // after the second field, of output
};

MonitorPacket ParseMonitorPacket(std::string_view bytes) {
  MonitorPacket packet{.letter = bytes[0], .fields = {}, .rest = {}};
  bytes.remove_prefix(1);
  while (!bytes.empty()) {
    if (packet.letter == 'O' && packet.fields.size() == 2) {
      packet.rest = bytes;
      break;
    }
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    packet.fields.push_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return packet;
}

OwnedFd ConnectTo(const std::string& pod_folder) {
  // Through a descriptor: socket paths are short, data folders need not be.
  const OwnedFd folder(open(pod_folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!folder || !fd) return OwnedFd();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder.get(), kMonitorSocket);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return OwnedFd();
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kMonitorSendBuffer, sizeof(kMonitorSendBuffer));
  return fd;
}

}  // namespace

class MonitorLoop::State : public std::enable_shared_from_this<State> {
 public:
  struct Link {
    OwnedFd fd;
    MonitorEvents events;
  };

  void Start() {
    Watch(wake_.get(), EPOLLIN);
    thread_ = Thread("monitors", [this] { Run(); });
  }
  void Stop() {
    {
      MutexLock lock(mu_);
      stopping_ = true;
    }
    Wake();
    thread_.Join();
  }

  Result<std::shared_ptr<Link>> Add(const std::string& pod_folder, MonitorEvents events) {
    OwnedFd fd = ConnectTo(pod_folder);
    if (!fd) return Unexpected(Error(Reason::kConnection, "the pod's monitor does not answer"));
    auto link = std::make_shared<Link>(Link{std::move(fd), std::move(events)});
    {
      MutexLock lock(mu_);
      links_[link->fd.get()] = link;
    }
    Watch(link->fd.get(), EPOLLIN);
    return link;
  }
  void Remove(const std::shared_ptr<Link>& link) {
    MutexLock lock(mu_);
    if (links_.erase(link->fd.get()) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link->fd.get(), nullptr);
  }
  void WhenWritable(int fd, Closure fn) {
    OwnedFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    const int watched = copy.get();
    {
      MutexLock lock(mu_);
      writers_[watched] = {std::move(copy), std::move(fn)};
    }
    Watch(watched, EPOLLOUT | EPOLLONESHOT);
  }

 private:
  struct Writer {
    OwnedFd fd;
    Closure fn;
  };

  void Watch(int fd, std::uint32_t what) {
    epoll_event event{};
    event.events = what;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  void Wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake_.get(), &one, sizeof(one));
  }

  void Run() {
    for (;;) {
      std::array<epoll_event, 32> ready;
      const int n = epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), -1);
      for (int i = 0; i < n; ++i) Handle(ready[static_cast<std::size_t>(i)].data.fd);
      MutexLock lock(mu_);
      if (stopping_) return;
    }
  }

  void Handle(int fd) {
    std::shared_ptr<Link> link;
    Writer writer;
    {
      MutexLock lock(mu_);
      if (const auto found = links_.find(fd); found != links_.end()) link = found->second;
      if (const auto found = writers_.find(fd); found != writers_.end()) {
        writer = std::move(found->second);
        writers_.erase(found);
      }
    }
    if (writer.fn) return writer.fn();
    if (link) Receive(link);
  }

  void Receive(const std::shared_ptr<Link>& link) {
    iovec data{buffer_.data(), buffer_.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t n = recvmsg(link->fd.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      Remove(link);
      if (link->events.lost) link->events.lost();
      return;
    }
    OwnedFd passed;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
      passed = OwnedFd(fd);
    }
    Tell(link->events, ParseMonitorPacket({buffer_.data(), static_cast<std::size_t>(n)}), std::move(passed));
  }

  static void Tell(const MonitorEvents& events, const MonitorPacket& packet, OwnedFd passed) {
    if (packet.fields.empty()) return;
    const std::string id(packet.fields[0]);
    const auto number = [&](std::size_t i) {
      return packet.fields.size() > i ? std::atoll(std::string(packet.fields[i]).c_str()) : 0;
    };
    if (packet.letter == 'S' && events.started) events.started(id, static_cast<pid_t>(number(1)));
    if (packet.letter == 'F' && events.failed) events.failed(id);
    if (packet.letter == 'X' && events.exited) events.exited(id, static_cast<int>(number(1)), number(2));
    if (packet.letter == 'O' && events.output)
      events.output(id, number(1) == 1 ? Stream::kStdout : Stream::kStderr, packet.rest);
    if (packet.letter == 'A' && events.attached) events.attached(id, std::move(passed));
    if (packet.letter == 'G' && events.grown) events.grown(id);
  }

  const OwnedFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  const OwnedFd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::string buffer_ = std::string(kMaxMonitorPacket, '\0');  // of the loop's thread
  Mutex mu_;
  bool stopping_ FLYBALL_GUARDED_BY(mu_) = false;
  std::map<int, std::shared_ptr<Link>> links_ FLYBALL_GUARDED_BY(mu_);
  std::map<int, Writer> writers_ FLYBALL_GUARDED_BY(mu_);
  Thread thread_;
};

namespace {

// Sends on a connection, and takes it out of the loop in the end.
template <typename State, typename Link>
class LinkedConnection final : public MonitorConnection {
 public:
  LinkedConnection(std::weak_ptr<State> state, std::shared_ptr<Link> link)
      : state_(std::move(state)), link_(std::move(link)) {}
  ~LinkedConnection() override {
    if (const auto state = state_.lock()) state->Remove(link_);
  }
  bool Send(char letter, std::initializer_list<std::string_view> fields) override {
    std::string packet(1, letter);
    for (const std::string_view field : fields) packet.append(field).push_back('\0');
    return send(link_->fd.get(), packet.data(), packet.size(), MSG_NOSIGNAL) >= 0;
  }

 private:
  const std::weak_ptr<State> state_;
  const std::shared_ptr<Link> link_;
};

}  // namespace

MonitorLoop::MonitorLoop() : state_(std::make_shared<State>()) {
  state_->Start();
}

MonitorLoop::~MonitorLoop() {
  state_->Stop();
}

Result<std::shared_ptr<MonitorConnection>> MonitorLoop::Connect(const std::string& pod_folder,
                                                                MonitorEvents events) {
  FLYBALL_ASSIGN(auto link, state_->Add(pod_folder, std::move(events)));
  return std::shared_ptr<MonitorConnection>(
      std::make_shared<LinkedConnection<State, State::Link>>(state_, std::move(link)));
}

void MonitorLoop::WhenWritable(int fd, Closure fn) {
  state_->WhenWritable(fd, std::move(fn));
}

}  // namespace flyball::node
