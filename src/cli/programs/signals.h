// Signals: how the program is asked to stop.
#pragma once

namespace flyball::cli {

// Blocks SIGINT, SIGTERM and SIGHUP in every thread started from now on. To be called before any is started,
// by programs that serve: the user's verbs end at once when interrupted.
void BlockStopSignals();
// Waits for one of them; returns its number.
int WaitForStopSignal();
// Makes the process stop as if it had been asked to from outside.
void StopBySignal();

}  // namespace flyball::cli
