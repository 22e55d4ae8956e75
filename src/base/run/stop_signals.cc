#include "base/run/stop_signals.h"

namespace flyball {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup = {};
  const bool ignored = sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!ignored) sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace flyball
