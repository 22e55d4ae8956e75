// ProcessLoop: starts processes, passes on what they write and tells when they have ended. The only place of
// the node agent that forks. One thread, asleep unless something happens (pidfds, pipes and terminals in one
// epoll).
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/values/result.h"
#include "base/values/unique_function.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

struct ProcessSpec {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> env;
  std::string working_dir;
  std::string network_namespace{};  // a path; empty: this program's
  bool input = false;               // a standard input of its own, fed by WriteInput; else /dev/null
  bool terminal = false;            // a terminal as all three streams; what it shows comes as standard output
};

struct ProcessEvents {
  // Called on the loop's thread; must not block. `exited` comes last, after all output of the process itself.
  UniqueFunction<void(Stream stream, std::string_view data)> output;
  // So many bytes given to WriteInput have been taken by the process, or will never be.
  UniqueFunction<void(std::size_t bytes)> input_taken = nullptr;
  UniqueFunction<void(int wait_status)> exited;
};

// Thread-safe.
class ProcessLoop {
 public:
  ProcessLoop();
  // Stops watching; processes still running are killed with their sessions.
  ~ProcessLoop();

  // Starts a process that leads its own session and dies with this program. Its pid; or why not: BadRequest
  // if the program or directory is not there or not executable.
  Result<pid_t> Spawn(const ProcessSpec& spec, ProcessEvents events);
  // To the whole process group of a process of this loop. Nothing if it has ended.
  void Signal(pid_t pid, int signal);

  // Of a process of this loop; nothing if it has ended or has no such thing.
  void WriteInput(pid_t pid, std::string data);
  // After what was written before. A terminal is sent its end-of-file character.
  void CloseInput(pid_t pid);
  void ResizeTerminal(pid_t pid, TerminalSize size);
  // While paused its output is left in the pipe, and it waits when that is full.
  void PauseOutput(pid_t pid, bool paused);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// When the process was started, in clock ticks after boot (field 22 of /proc/<pid>/stat); 0 if there is none.
// With the pid it names a process for ever, however pids are used again.
unsigned long long ProcessStartTime(pid_t pid);

}  // namespace flyball::node
