#include "node/oci/container_streams.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

namespace flyball::node {
namespace {

class ExecByRunc final : public StreamHandle {
 public:
  ExecByRunc(std::shared_ptr<StreamHandle> runc, std::string pid_file)
      : runc_(std::move(runc)), pid_file_(std::move(pid_file)) {}
  void WriteInput(std::string data) override { runc_->WriteInput(std::move(data)); }
  void CloseInput() override { runc_->CloseInput(); }
  void Resize(TerminalSize size) override { runc_->Resize(size); }
  bool PauseOutput(bool paused) override { return runc_->PauseOutput(paused); }
  void Stop() override {
    KillByPidFile(pid_file_);
    runc_->Stop();
  }

 private:
  const std::shared_ptr<StreamHandle> runc_;
  const std::string pid_file_;
};

}  // namespace

void KillByPidFile(const std::string& pid_file) {
  std::ifstream file(pid_file);
  pid_t pid = 0;
  if (file >> pid && pid > 1) kill(pid, SIGKILL);
}

std::shared_ptr<StreamHandle> WrapExec(std::shared_ptr<StreamHandle> runc, std::string pid_file) {
  return std::make_shared<ExecByRunc>(std::move(runc), std::move(pid_file));
}

class ContainerStreams::Handle final : public StreamHandle {
 public:
  Handle(std::shared_ptr<ContainerStreams> streams, int client, bool stdin)
      : streams_(std::move(streams)), client_(client), stdin_(stdin) {}
  void WriteInput(std::string data) override { streams_->WriteInput(client_, std::move(data)); }
  // A container that is to outlive its clients keeps its input open.
  void CloseInput() override {
    if (stdin_ && streams_->stdin_once_) streams_->CloseInput();
  }
  void Resize(TerminalSize size) override { streams_->Resize(size); }
  bool PauseOutput(bool) override { return false; }
  void Stop() override {
    CloseInput();
    streams_->Remove(client_);
  }

 private:
  const std::shared_ptr<ContainerStreams> streams_;
  const int client_;
  const bool stdin_;
};

Result<std::shared_ptr<StreamHandle>> ContainerStreams::Attach(const StreamRequest& request,
                                                               StreamEvents events) {
  MutexLock lock(mu_);
  if (ended_) return Unexpected(Error(Reason::kNotFound, "container is not running"));
  const int client = next_++;
  clients_[client] = std::make_shared<const Client>(Client{request, std::move(events)});
  monitor_->Send('A', {id_});
  return std::shared_ptr<StreamHandle>(std::make_shared<Handle>(shared_from_this(), client, request.stdin));
}

void ContainerStreams::Remove(int client) {
  MutexLock lock(mu_);
  clients_.erase(client);
  if (clients_.empty()) monitor_->Send('D', {id_});
}

void ContainerStreams::Output(Stream stream, std::string_view data) {
  std::map<int, ClientPtr> clients;
  {
    MutexLock lock(mu_);
    clients = clients_;
  }
  for (const auto& [id, client] : clients)
    if (stream == Stream::kStdout ? client->request.stdout : client->request.stderr)
      client->events.output(stream, data);
}

void ContainerStreams::InputIs(OwnedFd input) {
  {
    MutexLock lock(mu_);
    if (!input_) input_ = std::move(input);
    const winsize window{size_ ? size_->height : std::uint16_t{0}, size_ ? size_->width : std::uint16_t{0}, 0,
                         0};
    if (size_ && input_) ioctl(input_.get(), TIOCSWINSZ, &window);
  }
  Pump();
}

void ContainerStreams::Resize(TerminalSize size) {
  MutexLock lock(mu_);
  size_ = size;
  const winsize window{size.height, size.width, 0, 0};
  if (tty_ && input_) ioctl(input_.get(), TIOCSWINSZ, &window);
}

void ContainerStreams::WriteInput(int client, std::string data) {
  {
    MutexLock lock(mu_);
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    queue_.push_back({found->second, std::move(data)});
  }
  Pump();
}

void ContainerStreams::CloseInput() {
  {
    MutexLock lock(mu_);
    closing_ = true;
  }
  Pump();
}

// Writes what there is room for; the loop calls again when there is more.
void ContainerStreams::Pump() {
  std::vector<std::pair<ClientPtr, std::size_t>> taken;
  {
    MutexLock lock(mu_);
    if (pumping_ || !input_) return;
    while (!queue_.empty()) {
      Input& next = queue_.front();
      const ssize_t n = write(input_.get(), next.data.data(), next.data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      // Nobody reads it any more: it is gone.
      const std::size_t done = n < 0 ? next.data.size() : static_cast<std::size_t>(n);
      taken.emplace_back(next.client, done);
      next.data.erase(0, done);
      if (next.data.empty()) queue_.pop_front();
    }
    const auto loop = loop_.lock();
    if (!queue_.empty() && loop) {
      pumping_ = true;
      loop->WhenWritable(input_.get(), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        {
          MutexLock again(self->mu_);
          self->pumping_ = false;
        }
        self->Pump();
      });
    } else if (closing_) {
      constexpr char kEndOfTransmission = 4;  // a terminal's line discipline makes an end of file of it
      [[maybe_unused]] const ssize_t n = tty_ ? write(input_.get(), &kEndOfTransmission, 1) : 0;
      if (!tty_) monitor_->Send('C', {id_});
      if (!tty_) input_ = OwnedFd();
      closing_ = false;
    }
  }
  for (const auto& [client, bytes] : taken) client->events.input_taken(bytes);
}

void ContainerStreams::Follow(std::function<bool(bool closed)> grown) {
  bool closed;
  {
    MutexLock lock(mu_);
    closed = ended_;
    if (!closed) followers_.push_back(grown);
    if (!closed && !std::exchange(following_, true)) monitor_->Send('L', {id_});
  }
  grown(closed);
}

void ContainerStreams::Grown() {
  TellFollowers(false);
}

void ContainerStreams::TellFollowers(bool closed) {
  std::list<std::function<bool(bool)>> told;
  {
    MutexLock lock(mu_);
    told.swap(followers_);
  }
  told.remove_if([closed](const auto& grown) { return !grown(closed) || closed; });
  MutexLock lock(mu_);
  followers_.splice(followers_.end(), told);
}

void ContainerStreams::Ended(const ContainerExit& exit) {
  std::map<int, ClientPtr> clients;
  std::deque<Input> queue;
  {
    MutexLock lock(mu_);
    if (std::exchange(ended_, true)) return;
    clients.swap(clients_);
    queue.swap(queue_);
    input_ = OwnedFd();
  }
  TellFollowers(true);
  for (const Input& left : queue) left.client->events.input_taken(left.data.size());
  for (const auto& [id, client] : clients) client->events.ended(exit);
}

}  // namespace flyball::node
