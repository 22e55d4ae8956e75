#include "node/runtime/native_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "base/run/thread.h"

namespace flyball::node {
namespace {

// Closed when destroyed.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read, write;
  static Result<Pipe> Make() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return Unexpected(InternalError(std::string("pipe: ") + strerror(errno)));
    return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
  }
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The two ends of a new terminal.
struct Terminal {
  Descriptor master, slave;
  static Result<Terminal> Make() {
    Terminal made{Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), Descriptor()};
    char name[64];
    const int master = made.master.get();
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
        ptsname_r(master, name, sizeof(name)) != 0)
      return Unexpected(InternalError(std::string("terminal: ") + strerror(errno)));
    made.slave = Descriptor(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (made.slave.get() < 0) return Unexpected(InternalError(std::string("terminal: ") + strerror(errno)));
    return made;
  }
};

// Our ends of a process' streams, and its own. With a terminal `err` has no descriptors.
struct Plumbing {
  Descriptor in, out, err;
  Descriptor child_in, child_out, child_err;

  static Result<Plumbing> Make(const ProcessSpec& spec) {
    Plumbing made;
    if (spec.terminal) {
      FLYBALL_ASSIGN(Terminal terminal, Terminal::Make());
      made.in = Descriptor(fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, 0));
      made.out = std::move(terminal.master);
      made.child_in = Descriptor(fcntl(terminal.slave.get(), F_DUPFD_CLOEXEC, 0));
      made.child_err = Descriptor(fcntl(terminal.slave.get(), F_DUPFD_CLOEXEC, 0));
      made.child_out = std::move(terminal.slave);
      return made;
    }
    FLYBALL_ASSIGN(Pipe out, Pipe::Make());
    FLYBALL_ASSIGN(Pipe err, Pipe::Make());
    made.out = std::move(out.read);
    made.child_out = std::move(out.write);
    made.err = std::move(err.read);
    made.child_err = std::move(err.write);
    if (spec.input) {
      FLYBALL_ASSIGN(Pipe in, Pipe::Make());
      made.in = std::move(in.write);
      made.child_in = std::move(in.read);
    } else {
      made.child_in = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    return made;
  }
};

struct ChildPlan {
  std::vector<char*> argv, env;
  const char* directory = nullptr;
  int in = -1, out = -1, err = -1, report = -1, network = -1;
  bool terminal = false;
  pid_t parent = 0;
};

[[noreturn]] void ReportAndExit(int report) {
  const int error = errno;
  [[maybe_unused]] const ssize_t n = write(report, &error, sizeof(error));
  _exit(127);
}

// Between fork and exec only async-signal-safe calls are allowed: no allocation, no locks.
[[noreturn]] void RunChild(const ChildPlan& plan) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (getppid() != plan.parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int ignored : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGQUIT}) signal(ignored, SIG_DFL);
  if (plan.terminal) ioctl(plan.in, TIOCSCTTY, 0);
  dup2(plan.in, STDIN_FILENO);
  dup2(plan.out, STDOUT_FILENO);
  dup2(plan.err, STDERR_FILENO);
  // Our connections and files are none of its business; a connection it kept could not be closed by us. Not
  // every library opens them so that they end with exec.
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  if (plan.network >= 0 && setns(plan.network, CLONE_NEWNET) != 0) ReportAndExit(plan.report);
  if (plan.directory && chdir(plan.directory) != 0) ReportAndExit(plan.report);
  execvpe(plan.argv[0], plan.argv.data(), plan.env.data());
  ReportAndExit(plan.report);
}

Result<Descriptor> NetworkOf(const ProcessSpec& spec) {
  if (spec.network_namespace.empty()) return Descriptor();
  Descriptor network(open(spec.network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
  if (network.get() < 0)
    return Unexpected(InternalError("network namespace " + spec.network_namespace + ": " + strerror(errno)));
  return network;
}

Error SpawnError(const ProcessSpec& spec, int error) {
  const std::string text = "exec: \"" + spec.argv[0] + "\": " + strerror(error);
  const bool users = error == ENOENT || error == EACCES || error == ENOEXEC || error == ENOTDIR;
  return users ? BadRequest(text) : InternalError(text);
}

}  // namespace

struct ProcessLoop::State {
  struct Process {
    pid_t pid = 0;
    Descriptor pidfd, in, out, err;
    bool terminal = false;
    bool paused = false;      // its output
    bool closing_in = false;  // once `input` is empty
    bool waiting_in = false;  // for room in the pipe
    std::string input;        // not yet taken
    ProcessEvents events;
  };
  using ProcessPtr = std::shared_ptr<Process>;
  enum class Kind : std::uint32_t { kWake, kPid, kIn, kOut, kErr };

  Descriptor epoll{epoll_create1(EPOLL_CLOEXEC)};
  Descriptor wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Mutex mu;
  std::deque<Closure> tasks FLYBALL_GUARDED_BY(mu);
  bool stopping FLYBALL_GUARDED_BY(mu) = false;
  std::map<pid_t, ProcessPtr> processes FLYBALL_GUARDED_BY(mu);
  Thread thread;

  void Watch(int fd, Kind kind, pid_t pid, std::uint32_t what = EPOLLIN) {
    epoll_event event{};
    event.events = what;
    event.data.u64 = (static_cast<std::uint64_t>(kind) << 32) | static_cast<std::uint32_t>(pid);
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event);
  }
  void Unwatch(int fd) { epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fd, nullptr); }
  void Wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake.get(), &one, sizeof(one));
  }
  void Post(Closure task) {
    {
      MutexLock lock(mu);
      tasks.push_back(std::move(task));
    }
    Wake();
  }
  std::shared_ptr<Process> Find(pid_t pid) {
    MutexLock lock(mu);
    const auto found = processes.find(pid);
    return found == processes.end() ? nullptr : found->second;
  }

  void Run() {
    // A process that no longer reads its input is told by an error, here too.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    Watch(wake.get(), Kind::kWake, 0);
    for (;;) {
      std::array<epoll_event, 32> events;
      const int n = epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < n; ++i)
        Handle(static_cast<Kind>(events[i].data.u64 >> 32), static_cast<pid_t>(events[i].data.u64));
      MutexLock lock(mu);
      if (stopping) return;
    }
  }

  void Handle(Kind kind, pid_t pid) {
    if (kind == Kind::kWake) return RunTasks();
    const auto process = Find(pid);
    if (!process) return;
    if (kind == Kind::kPid)
      Reap(*process);
    else if (kind == Kind::kIn)
      FeedInput(*process);
    else if (!process->paused)
      ReadSome(*process, kind == Kind::kOut ? Stream::kStdout : Stream::kStderr);
  }

  void RunTasks() {
    std::uint64_t count;
    [[maybe_unused]] const ssize_t n = read(wake.get(), &count, sizeof(count));
    std::deque<Closure> ready;
    {
      MutexLock lock(mu);
      ready.swap(tasks);
    }
    for (const Closure& task : ready) task();
  }

  // False when there is nothing more for now.
  bool ReadSome(Process& process, Stream stream) {
    Descriptor& fd = stream == Stream::kStdout ? process.out : process.err;
    if (fd.get() < 0) return false;
    std::array<char, 16384> buffer;
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n > 0) {
      process.events.output(stream, std::string_view(buffer.data(), static_cast<std::size_t>(n)));
      return true;
    }
    if (n == 0 || errno != EAGAIN) fd.Close();
    return false;
  }

  // Writes what the pipe has room for, and waits for more room while something is left.
  void FeedInput(Process& process) {
    std::size_t taken = 0;
    while (process.in.get() >= 0 && taken < process.input.size()) {
      const ssize_t n = write(process.in.get(), process.input.data() + taken, process.input.size() - taken);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) {
        CloseInputNow(process);  // nobody reads it any more
        break;
      }
      taken += static_cast<std::size_t>(n);
    }
    if (process.in.get() < 0) taken = process.input.size();
    process.input.erase(0, taken);
    if (taken > 0 && process.events.input_taken) process.events.input_taken(taken);
    const bool waits = process.in.get() >= 0 && !process.input.empty();
    if (waits != process.waiting_in && process.in.get() >= 0) {
      waits ? Watch(process.in.get(), Kind::kIn, process.pid, EPOLLOUT) : Unwatch(process.in.get());
      process.waiting_in = waits;
    }
    if (!waits && process.closing_in) CloseInputNow(process);
  }

  void CloseInputNow(Process& process) {
    process.waiting_in = false;
    process.closing_in = false;
    constexpr char kEndOfFile = 4;  // control-D, which a terminal's line discipline knows
    if (process.terminal && process.in.get() >= 0) {
      [[maybe_unused]] const ssize_t n = write(process.in.get(), &kEndOfFile, 1);
      return;
    }
    process.in.Close();
  }

  void Pause(Process& process, bool paused) {
    if (std::exchange(process.paused, paused) == paused) return;
    for (const auto& [fd, kind] :
         {std::pair(process.out.get(), Kind::kOut), std::pair(process.err.get(), Kind::kErr)}) {
      if (fd < 0) continue;
      paused ? Unwatch(fd) : Watch(fd, kind, process.pid);
    }
  }

  // Runs fn on the loop's thread, if the process is still there.
  void WithProcess(pid_t pid, UniqueFunction<void(Process&)> fn) {
    Post([this, pid, fn = std::move(fn)] {
      if (const auto process = Find(pid)) fn(*process);
    });
  }

  void Reap(Process& process) {
    int status = 0;
    if (waitpid(process.pid, &status, WNOHANG) != process.pid) return;
    // What it wrote before it ended is in the pipes; children that outlive it may keep those open.
    while (ReadSome(process, Stream::kStdout)) {
    }
    while (ReadSome(process, Stream::kStderr)) {
    }
    // A container ends with its first process.
    kill(-process.pid, SIGKILL);
    ProcessPtr keep;
    {
      MutexLock lock(mu);
      const auto found = processes.find(process.pid);
      keep = found->second;
      processes.erase(found);
    }
    if (!keep->input.empty() && keep->events.input_taken) keep->events.input_taken(keep->input.size());
    keep->events.exited(status);
  }

  Result<pid_t> Fork(const ProcessSpec& spec, ProcessEvents events) {
    FLYBALL_ASSIGN(Plumbing plumbing, Plumbing::Make(spec));
    FLYBALL_ASSIGN(Pipe report, Pipe::Make());
    FLYBALL_ASSIGN(const Descriptor network, NetworkOf(spec));
    std::vector<std::string> env;
    for (const auto& [name, value] : spec.env) env.push_back(name + "=" + value);
    const ChildPlan plan{.argv = Pointers(spec.argv),
                         .env = Pointers(env),
                         .directory = spec.working_dir.empty() ? nullptr : spec.working_dir.c_str(),
                         .in = plumbing.child_in.get(),
                         .out = plumbing.child_out.get(),
                         .err = plumbing.child_err.get(),
                         .report = report.write.get(),
                         .network = network.get(),
                         .terminal = spec.terminal,
                         .parent = getpid()};
    const pid_t pid = fork();
    if (pid < 0) return Unexpected(InternalError(std::string("fork: ") + strerror(errno)));
    if (pid == 0) RunChild(plan);
    report.write.Close();
    int error = 0;
    // The pipe closes with a successful exec.
    if (read(report.read.get(), &error, sizeof(error)) == sizeof(error)) {
      waitpid(pid, nullptr, 0);
      return Unexpected(SpawnError(spec, error));
    }
    Adopt(pid, spec.terminal, std::move(plumbing), std::move(events));
    return pid;
  }

  void Adopt(pid_t pid, bool terminal, Plumbing plumbing, ProcessEvents events) {
    for (const Descriptor* fd : {&plumbing.in, &plumbing.out, &plumbing.err})
      if (fd->get() >= 0) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    auto process = std::make_shared<Process>();
    process->pid = pid;
    process->terminal = terminal;
    process->pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    process->in = std::move(plumbing.in);
    process->out = std::move(plumbing.out);
    process->err = std::move(plumbing.err);
    process->events = std::move(events);
    {
      MutexLock lock(mu);
      processes[pid] = process;
    }
    Watch(process->out.get(), Kind::kOut, pid);
    if (process->err.get() >= 0) Watch(process->err.get(), Kind::kErr, pid);
    Watch(process->pidfd.get(), Kind::kPid, pid);
  }
};

ProcessLoop::ProcessLoop() : state_(std::make_unique<State>()) {
  state_->thread = Thread("processes", [state = state_.get()] { state->Run(); });
}

ProcessLoop::~ProcessLoop() {
  {
    MutexLock lock(state_->mu);
    state_->stopping = true;
  }
  state_->Wake();
  state_->thread.Join();
  MutexLock lock(state_->mu);
  for (const auto& [pid, process] : state_->processes) {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

Result<pid_t> ProcessLoop::Spawn(const ProcessSpec& spec, ProcessEvents events) {
  // On the loop's thread: the kernel's "dies with its parent" means the thread that forked.
  auto result = std::make_shared<Notification<Result<pid_t>>>();
  state_->Post([state = state_.get(), &spec, events = std::make_shared<ProcessEvents>(std::move(events)),
                result] { result->Set(state->Fork(spec, std::move(*events))); });
  return result->Wait();
}

void ProcessLoop::Signal(pid_t pid, int signal) {
  MutexLock lock(state_->mu);
  if (state_->processes.contains(pid)) kill(-pid, signal);
}

void ProcessLoop::WriteInput(pid_t pid, std::string data) {
  state_->WithProcess(pid, [state = state_.get(), data = std::move(data)](State::Process& process) {
    if (process.in.get() < 0 || process.closing_in) {
      if (process.events.input_taken) process.events.input_taken(data.size());
      return;
    }
    process.input += data;
    state->FeedInput(process);
  });
}

void ProcessLoop::CloseInput(pid_t pid) {
  state_->WithProcess(pid, [state = state_.get()](State::Process& process) {
    process.closing_in = true;
    state->FeedInput(process);
  });
}

void ProcessLoop::ResizeTerminal(pid_t pid, TerminalSize size) {
  state_->WithProcess(pid, [size](State::Process& process) {
    const winsize window{size.height, size.width, 0, 0};
    if (process.terminal) ioctl(process.out.get(), TIOCSWINSZ, &window);
  });
}

void ProcessLoop::PauseOutput(pid_t pid, bool paused) {
  state_->WithProcess(
      pid, [state = state_.get(), paused](State::Process& process) { state->Pause(process, paused); });
}

unsigned long long ProcessStartTime(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The name, in parentheses, may hold spaces; what follows the last one does not.
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string field;
  constexpr int kStartTimeAfterName = 20;
  for (int i = 0; i < kStartTimeAfterName; ++i) rest >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

}  // namespace flyball::node
