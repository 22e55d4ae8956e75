// Signals: how the program is asked to stop.
#pragma once

namespace flyball::cli {

// Blocks SIGINT and SIGTERM in every thread started from now on. To be called first thing in main.
void BlockStopSignals();
// Waits for one of them; returns its number.
int WaitForStopSignal();

}  // namespace flyball::cli
