#include "node/runtime/native_streams.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

namespace flyball::node {
namespace {

class ExecHandle final : public StreamHandle {
 public:
  ExecHandle(std::weak_ptr<ProcessLoop> loop, pid_t pid) : loop_(std::move(loop)), pid_(pid) {}

  void WriteInput(std::string data) override {
    if (const auto loop = loop_.lock()) loop->WriteInput(pid_, std::move(data));
  }
  void CloseInput() override {
    if (const auto loop = loop_.lock()) loop->CloseInput(pid_);
  }
  void Resize(TerminalSize size) override {
    if (const auto loop = loop_.lock()) loop->ResizeTerminal(pid_, size);
  }
  bool PauseOutput(bool paused) override {
    if (const auto loop = loop_.lock()) loop->PauseOutput(pid_, paused);
    return true;
  }
  void Stop() override {
    if (const auto loop = loop_.lock()) loop->Signal(pid_, SIGKILL);
  }

 private:
  // Its thread cannot end itself, and calls from it may hold the last handle.
  const std::weak_ptr<ProcessLoop> loop_;
  const pid_t pid_;
};

}  // namespace

ContainerExit ExitOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return {.exit_code = 128 + signal, .signal = signal};
  }
  return {.exit_code = WEXITSTATUS(wait_status)};
}

ProcessSpec ExecSpec(const ProcessSpec& container, const StreamRequest& request) {
  ProcessSpec spec = container;
  spec.argv = request.command;
  spec.input = request.stdin;
  spec.terminal = request.tty;
  const bool has_term = std::any_of(spec.env.begin(), spec.env.end(),
                                    [](const auto& variable) { return variable.first == "TERM"; });
  // As container runtimes set it where a terminal is asked for.
  if (request.tty && !has_term) spec.env.emplace_back("TERM", "xterm");
  return spec;
}

Result<std::shared_ptr<StreamHandle>> StartExec(const std::shared_ptr<ProcessLoop>& loop,
                                                const ProcessSpec& spec, StreamEvents events) {
  auto shared = std::make_shared<const StreamEvents>(std::move(events));
  ProcessEvents process;
  process.output = [shared](Stream stream, std::string_view data) { shared->output(stream, data); };
  process.input_taken = [shared](std::size_t bytes) { shared->input_taken(bytes); };
  process.exited = [shared](int status) { shared->ended(ExitOf(status)); };
  FLYBALL_ASSIGN(const pid_t pid, loop->Spawn(spec, std::move(process)));
  return std::shared_ptr<StreamHandle>(std::make_shared<ExecHandle>(loop, pid));
}

class AttachedClients::Handle final : public StreamHandle {
 public:
  Handle(std::shared_ptr<AttachedClients> clients, std::weak_ptr<ProcessLoop> loop, pid_t pid, int client,
         bool stdin)
      : clients_(std::move(clients)), process_(std::move(loop), pid), client_(client), stdin_(stdin) {}

  void WriteInput(std::string data) override {
    clients_->WroteInput(client_, data.size());
    process_.WriteInput(std::move(data));
  }
  // A container that is to outlive its clients keeps its input open.
  void CloseInput() override {
    if (stdin_ && clients_->stdin_once_) process_.CloseInput();
  }
  void Resize(TerminalSize size) override { process_.Resize(size); }
  bool PauseOutput(bool) override { return false; }
  void Stop() override {
    CloseInput();
    clients_->Remove(client_);
  }

 private:
  const std::shared_ptr<AttachedClients> clients_;
  ExecHandle process_;
  const int client_;
  const bool stdin_;
};

Result<std::shared_ptr<StreamHandle>> AttachedClients::Add(const std::shared_ptr<AttachedClients>& clients,
                                                           const std::shared_ptr<ProcessLoop>& loop,
                                                           pid_t pid, const StreamRequest& request,
                                                           StreamEvents events) {
  MutexLock lock(clients->mu_);
  if (clients->ended_) return Unexpected(Error(Reason::kNotFound, "container is not running"));
  const int client = clients->next_++;
  clients->clients_[client] = std::make_shared<const Client>(Client{request, std::move(events)});
  return std::shared_ptr<StreamHandle>(std::make_shared<Handle>(clients, loop, pid, client, request.stdin));
}

std::map<int, AttachedClients::ClientPtr> AttachedClients::Snapshot() {
  MutexLock lock(mu_);
  return clients_;
}

void AttachedClients::Output(Stream stream, std::string_view data) {
  for (const auto& [id, client] : Snapshot())
    if (stream == Stream::kStdout ? client->request.stdout : client->request.stderr)
      client->events.output(stream, data);
}

void AttachedClients::WroteInput(int client, std::size_t bytes) {
  MutexLock lock(mu_);
  written_.emplace_back(client, bytes);
}

// Input is taken in the order in which it was written.
void AttachedClients::InputTaken(std::size_t bytes) {
  std::deque<std::pair<ClientPtr, std::size_t>> tell;
  {
    MutexLock lock(mu_);
    while (bytes > 0 && !written_.empty()) {
      auto& [client, left] = written_.front();
      const std::size_t part = std::min(bytes, left);
      if (const auto found = clients_.find(client); found != clients_.end())
        tell.emplace_back(found->second, part);
      bytes -= part;
      left -= part;
      if (left == 0) written_.pop_front();
    }
  }
  for (const auto& [client, part] : tell) client->events.input_taken(part);
}

void AttachedClients::Ended(const ContainerExit& exit) {
  std::map<int, ClientPtr> clients;
  {
    MutexLock lock(mu_);
    ended_ = true;
    clients.swap(clients_);
  }
  for (const auto& [id, client] : clients) client->events.ended(exit);
}

void AttachedClients::Remove(int client) {
  MutexLock lock(mu_);
  clients_.erase(client);
}

}  // namespace flyball::node
