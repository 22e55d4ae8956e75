#include "node/process_group.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

extern char** environ;

namespace flyball::node {
namespace {

std::vector<std::string> Environment(const ProcessSpec& spec) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    const auto name = text.substr(0, text.find('='));
    bool overridden = false;
    for (const auto& [key, value] : spec.env) overridden |= key == name;
    if (!overridden) out.emplace_back(text);
  }
  for (const auto& [key, value] : spec.env) out.push_back(key + "=" + value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (auto& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<pid_t> StartProcess(const ProcessSpec& spec) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, spec.output.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  if (!spec.working_dir.empty()) posix_spawn_file_actions_addchdir_np(&actions, spec.working_dir.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The program blocks its stop signals; what it starts must not inherit that.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  auto argv = spec.argv;
  auto environment = Environment(spec);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes, Pointers(argv).data(),
                                 Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Unexpected(InternalError("exec: \"" + spec.argv[0] + "\": " + std::strerror(error)));
  return pid;
}

void SignalGroup(pid_t leader, int signal) {
  if (leader > 1) ::kill(-leader, signal);
}

unsigned long long StartTicks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto close = text.rfind(')');  // the name before it may hold anything
  if (close == std::string::npos) return 0;
  std::istringstream fields(text.substr(close + 2));
  std::string field;
  constexpr int kStartTimeField = 20;  // the 22nd of the line, the third being the first after the name
  for (int i = 0; i < kStartTimeField; ++i)
    if (!(fields >> field)) return 0;
  return std::strtoull(field.c_str(), nullptr, 10);
}

ProcessWatcher::ProcessWatcher() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC)) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = Thread("processes", [this] { Run(); });
}

ProcessWatcher::~ProcessWatcher() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  thread_.Join();
  for (const auto& [fd, entry] : watched_) ::close(fd);
  ::close(wake_);
  ::close(epoll_);
}

Status ProcessWatcher::Watch(pid_t pid, OnExit on_exit) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return Unexpected(InternalError(std::string("pidfd_open: ") + std::strerror(errno)));
  {
    MutexLock lock(mu_);
    watched_[fd] = {pid, std::move(on_exit)};
  }
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  return {};
}

void ProcessWatcher::Run() {
  for (;;) {
    epoll_event event{};
    if (::epoll_wait(epoll_, &event, 1, -1) < 1) continue;
    std::pair<pid_t, OnExit> entry{0, nullptr};
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      const auto it = watched_.find(event.data.fd);
      if (it == watched_.end()) continue;
      entry = std::move(it->second);
      watched_.erase(it);
    }
    int status = 0;
    ::waitpid(entry.first, &status, 0);
    ::close(event.data.fd);  // leaves the epoll set with it
    entry.second(status);
  }
}

}  // namespace flyball::node
