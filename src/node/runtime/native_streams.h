// Clients at the standard streams of native processes: of their own (exec), or a container's (attach).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "base/run/mutex.h"
#include "node/runtime/native_process.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

ContainerExit ExitOf(int wait_status);

// The process of an exec beside one that was started so.
ProcessSpec ExecSpec(const ProcessSpec& container, const StreamRequest& request);

Result<std::shared_ptr<StreamHandle>> StartExec(const std::shared_ptr<ProcessLoop>& loop,
                                                const ProcessSpec& spec, StreamEvents events);

// Those attached to one container. Thread-safe.
class AttachedClients {
 public:
  // `stdin_once`: the container's input ends with the first client that writes to it.
  explicit AttachedClients(bool stdin_once) : stdin_once_(stdin_once) {}

  static Result<std::shared_ptr<StreamHandle>> Add(const std::shared_ptr<AttachedClients>& clients,
                                                   const std::shared_ptr<ProcessLoop>& loop, pid_t pid,
                                                   const StreamRequest& request, StreamEvents events);

  // From the process' loop.
  void Output(Stream stream, std::string_view data);
  void InputTaken(std::size_t bytes);
  void Ended(const ContainerExit& exit);

 private:
  class Handle;
  struct Client {
    StreamRequest request;
    StreamEvents events;
  };
  using ClientPtr = std::shared_ptr<const Client>;

  std::map<int, ClientPtr> Snapshot();
  void WroteInput(int client, std::size_t bytes);
  void Remove(int client);

  const bool stdin_once_;
  Mutex mu_;
  int next_ FLYBALL_GUARDED_BY(mu_) = 1;
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
  std::map<int, ClientPtr> clients_ FLYBALL_GUARDED_BY(mu_);
  std::deque<std::pair<int, std::size_t>> written_ FLYBALL_GUARDED_BY(mu_);  // whose input is not yet taken
};

}  // namespace flyball::node
