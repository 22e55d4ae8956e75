#include "node/native_process.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

#include "base/log.h"
#include "base/mutex.h"
#include "base/notification.h"
#include "base/thread.h"

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

struct ChildPlan {
  std::vector<char*> argv, env;
  const char* directory = nullptr;
  int out = -1, err = -1, report = -1;
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
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(plan.out, STDOUT_FILENO);
  dup2(plan.err, STDERR_FILENO);
  if (plan.directory && chdir(plan.directory) != 0) ReportAndExit(plan.report);
  execvpe(plan.argv[0], plan.argv.data(), plan.env.data());
  ReportAndExit(plan.report);
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
    Descriptor pidfd, out, err;
    ProcessEvents events;
  };
  enum class Kind : std::uint32_t { kWake, kPid, kOut, kErr };

  Descriptor epoll{epoll_create1(EPOLL_CLOEXEC)};
  Descriptor wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Mutex mu;
  std::deque<Closure> tasks FLYBALL_GUARDED_BY(mu);
  bool stopping FLYBALL_GUARDED_BY(mu) = false;
  std::map<pid_t, std::shared_ptr<Process>> processes FLYBALL_GUARDED_BY(mu);
  Thread thread;

  void Watch(int fd, Kind kind, pid_t pid) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = (static_cast<std::uint64_t>(kind) << 32) | static_cast<std::uint32_t>(pid);
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event);
  }
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
    else
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
    std::shared_ptr<Process> keep;
    {
      MutexLock lock(mu);
      const auto found = processes.find(process.pid);
      keep = found->second;
      processes.erase(found);
    }
    keep->events.exited(status);
  }

  Result<pid_t> Fork(const ProcessSpec& spec, ProcessEvents events) {
    FLYBALL_ASSIGN(Pipe out, Pipe::Make());
    FLYBALL_ASSIGN(Pipe err, Pipe::Make());
    FLYBALL_ASSIGN(Pipe report, Pipe::Make());
    std::vector<std::string> env;
    for (const auto& [name, value] : spec.env) env.push_back(name + "=" + value);
    const ChildPlan plan{.argv = Pointers(spec.argv),
                         .env = Pointers(env),
                         .directory = spec.working_dir.empty() ? nullptr : spec.working_dir.c_str(),
                         .out = out.write.get(),
                         .err = err.write.get(),
                         .report = report.write.get(),
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
    Adopt(pid, std::move(out.read), std::move(err.read), std::move(events));
    return pid;
  }

  void Adopt(pid_t pid, Descriptor out, Descriptor err, ProcessEvents events) {
    for (const Descriptor* fd : {&out, &err}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    auto process = std::make_shared<Process>();
    process->pid = pid;
    process->pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    process->out = std::move(out);
    process->err = std::move(err);
    process->events = std::move(events);
    {
      MutexLock lock(mu);
      processes[pid] = process;
    }
    Watch(process->out.get(), Kind::kOut, pid);
    Watch(process->err.get(), Kind::kErr, pid);
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
