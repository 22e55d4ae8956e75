// MonitorLoop: the agent's side of monitor_protocol.h: connections to the monitors of all pods, served by one
// thread that sleeps unless something happens.
#pragma once

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "base/values/unique_function.h"
#include "node/images/rooted_tree.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Called on the loop's thread, one at a time; must not block. Any may be null.
struct MonitorEvents {
  std::function<void(const std::string& id, pid_t pid)> started;
  std::function<void(const std::string& id)> failed;
  std::function<void(const std::string& id, int wait_status, std::int64_t nanos)> exited;
  std::function<void(const std::string& id, Stream stream, std::string_view data)> output;
  std::function<void(const std::string& id, OwnedFd input)> attached;
  std::function<void(const std::string& id)> grown;
  std::function<void()> lost;  // the monitor is gone; nothing else comes
};

// Thread-safe. Dropping it closes the connection.
class MonitorConnection {
 public:
  virtual ~MonitorConnection() = default;
  // False if the monitor is gone.
  virtual bool Send(char letter, std::initializer_list<std::string_view> fields) = 0;
};

// Thread-safe.
class MonitorLoop {
 public:
  MonitorLoop();
  ~MonitorLoop();

  // kConnection if nobody listens in that folder.
  Result<std::shared_ptr<MonitorConnection>> Connect(const std::string& pod_folder, MonitorEvents events);
  // Calls fn once, on the loop's thread, when something can be written to the descriptor, of which a copy is
  // kept until then.
  void WhenWritable(int fd, Closure fn);

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace flyball::node
