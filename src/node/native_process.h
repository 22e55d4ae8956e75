// ProcessLoop: starts processes, passes on what they write and tells when they have ended. The only place of
// the node agent that forks. One thread, asleep unless something happens (pidfds and pipes in one epoll).
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"

namespace flyball::node {

struct ProcessSpec {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> env;
  std::string working_dir;
};

enum class Stream { kStdout, kStderr };

struct ProcessEvents {
  // Called on the loop's thread; must not block. `exited` comes last, after all output of the process itself.
  UniqueFunction<void(Stream stream, std::string_view data)> output;
  UniqueFunction<void(int wait_status)> exited;
};

// Thread-safe.
class ProcessLoop {
 public:
  ProcessLoop();
  // Stops watching; processes still running are killed with their sessions.
  ~ProcessLoop();

  // Starts a process that leads its own session, dies with this program, and reads /dev/null. Its pid; or why
  // not: BadRequest if the program or directory is not there or not executable.
  Result<pid_t> Spawn(const ProcessSpec& spec, ProcessEvents events);
  // To the whole process group of a process of this loop. Nothing if it has ended.
  void Signal(pid_t pid, int signal);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// When the process was started, in clock ticks after boot (field 22 of /proc/<pid>/stat); 0 if there is none.
// With the pid it names a process for ever, however pids are used again.
unsigned long long ProcessStartTime(pid_t pid);

}  // namespace flyball::node
