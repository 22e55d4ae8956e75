// The signals that ask a program to stop, for whoever blocks them and waits.
#pragma once

#include <csignal>

namespace flyball {

// SIGINT, SIGTERM, and SIGHUP (the terminal went away) unless it is ignored: under nohup it stays so.
sigset_t StopSignals();

}  // namespace flyball
