// What the process says before it dies, so that nobody has to guess: every end by the program's own fault
// leaves a line in the log.
#pragma once

namespace flyball {

// From now on std::terminate (an exception nobody caught, most often out of memory) logs the exception before
// it aborts. Also keeps some memory back, which is given up when an allocation fails: the first request that
// meets the limit can still be answered and logged. Programs call it once, first thing.
void InstallFatalHandlers();

}  // namespace flyball
