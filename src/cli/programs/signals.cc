#include "cli/programs/signals.h"

#include <unistd.h>

#include <csignal>

#include "base/run/stop_signals.h"

namespace flyball::cli {

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

}  // namespace flyball::cli
