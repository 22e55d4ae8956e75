// Clients at the standard streams of containers, and those who follow their logs.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "node/oci/monitor_client.h"
#include "node/runtime/native_process.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Those attached to one container, and those who follow its log. Thread-safe. Owned by shared_ptr.
class ContainerStreams : public std::enable_shared_from_this<ContainerStreams> {
 public:
  ContainerStreams(std::string id, bool stdin_once, bool tty, std::shared_ptr<MonitorConnection> monitor,
                   std::shared_ptr<MonitorLoop> loop)
      : id_(std::move(id)),
        stdin_once_(stdin_once),
        tty_(tty),
        monitor_(std::move(monitor)),
        loop_(std::move(loop)) {}

  Result<std::shared_ptr<StreamHandle>> Attach(const StreamRequest& request, StreamEvents events);
  // Calls `grown` after every write and once at the end; it returns false to hear no more. It must not block.
  void Follow(std::function<bool(bool closed)> grown);

  // From the monitor's loop.
  void Output(Stream stream, std::string_view data);
  void InputIs(OwnedFd input);
  void Grown();
  void Ended(const ContainerExit& exit);

 private:
  class Handle;
  struct Client {
    StreamRequest request;
    StreamEvents events;
  };
  using ClientPtr = std::shared_ptr<const Client>;
  struct Input {
    ClientPtr client;
    std::string data;
  };

  void WriteInput(int client, std::string data);
  void CloseInput();
  void Resize(TerminalSize size);
  void Remove(int client);
  void Pump();
  void TellFollowers(bool closed);

  const std::string id_;
  const bool stdin_once_, tty_;
  const std::shared_ptr<MonitorConnection> monitor_;
  const std::weak_ptr<MonitorLoop> loop_;
  Mutex mu_;
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
  bool pumping_ FLYBALL_GUARDED_BY(mu_) = false, closing_ FLYBALL_GUARDED_BY(mu_) = false;
  bool following_ FLYBALL_GUARDED_BY(mu_) = false;
  int next_ FLYBALL_GUARDED_BY(mu_) = 1;
  std::map<int, ClientPtr> clients_ FLYBALL_GUARDED_BY(mu_);
  std::deque<Input> queue_ FLYBALL_GUARDED_BY(mu_);
  OwnedFd input_ FLYBALL_GUARDED_BY(mu_);
  std::optional<TerminalSize> size_ FLYBALL_GUARDED_BY(mu_);
  std::list<std::function<bool(bool)>> followers_ FLYBALL_GUARDED_BY(mu_);
};

// An exec by runc: its process in the container is named by `pid_file`, and killed when the client goes.
std::shared_ptr<StreamHandle> WrapExec(std::shared_ptr<StreamHandle> runc, std::string pid_file);
// Kills the process named by the file, if there is one.
void KillByPidFile(const std::string& pid_file);

}  // namespace flyball::node
