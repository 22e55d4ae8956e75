// Processes: starting one in a session of its own, hearing of its end without polling, and ending all of it.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread.h"
#include "base/unique_function.h"

namespace flyball::node {

struct ProcessSpec {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;  // on top of the program's own
  std::string working_dir;
  std::string output;  // file that standard output and error are appended to
};

// Starts it as leader of a new session and process group. An error says which step failed.
Result<pid_t> StartProcess(const ProcessSpec& spec);
// Signals the whole group. Harmless if it is gone.
void SignalGroup(pid_t leader, int signal);
// When the process was started, in clock ticks since boot: with the pid it names a process for good. 0: no
// such process.
unsigned long long StartTicks(pid_t pid);

// Tells of the end of processes, each once. Thread-safe. Callbacks come on its own thread and must not block.
class ProcessWatcher {
 public:
  // `status` is as waitpid gives it.
  using OnExit = UniqueFunction<void(int status)>;

  ProcessWatcher();
  ~ProcessWatcher();
  Status Watch(pid_t pid, OnExit on_exit);

 private:
  void Run();

  int epoll_ = -1, wake_ = -1;
  Mutex mu_;
  std::map<int, std::pair<pid_t, OnExit>> watched_ GUARDED_BY(mu_);  // by pidfd
  bool stopping_ GUARDED_BY(mu_) = false;
  Thread thread_;
};

}  // namespace flyball::node
