#include "cli/programs/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/run/stop_signals.h"
#include "base/run/thread.h"

namespace flyball::cli {
namespace {

// A thread that waits for the parent's end, or for the eventfd that says that nobody is interested any more.
class PidfdWatch final : public ParentWatch {
 public:
  PidfdWatch(int parent, bool gone) : parent_(parent), stop_(::eventfd(0, EFD_CLOEXEC)), gone_(gone) {
    thread_ = Thread("parent", [this] { Run(); });
  }
  ~PidfdWatch() override {
    ::eventfd_write(stop_, 1);
    thread_.Join();
    ::close(parent_);
    ::close(stop_);
  }
  bool gone() const override { return gone_.load(); }

 private:
  void Run() {
    pollfd waited[2] = {{parent_, POLLIN, 0}, {stop_, POLLIN, 0}};
    while (!gone_ && ::poll(waited, 2, -1) < 0 && errno == EINTR) {
    }
    if (waited[1].revents != 0) return;
    gone_.store(true);
    StopBySignal();
  }

  const int parent_, stop_;
  std::atomic<bool> gone_;
  Thread thread_;
};

}  // namespace

void BlockStopSignals() {
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A peer that goes away is an error of that connection, not of the process.
  std::signal(SIGPIPE, SIG_IGN);
}

int WaitForStopSignal() {
  const sigset_t set = StopSignals();
  int number = 0;
  sigwait(&set, &number);
  return number;
}

void StopBySignal() {
  kill(getpid(), SIGTERM);
}

Result<std::unique_ptr<ParentWatch>> ParentWatch::Start() {
  const pid_t parent = ::getppid();
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0));
  if (pidfd < 0)
    return Unexpected(InternalError("cannot watch the parent process: " + std::string(std::strerror(errno))));
  // It may have ended in between, and its number may be somebody else's now.
  const bool gone = ::getppid() != parent;
  return std::unique_ptr<ParentWatch>(std::make_unique<PidfdWatch>(pidfd, gone));
}

}  // namespace flyball::cli
