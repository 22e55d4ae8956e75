// Lines on standard error in the form of klog, which kubectl logs with.
#pragma once

#include <string>

#include "base/run/clock.h"

namespace flyball::cli {

// "I1118 20:24:49.158060   17283 loader.go:408] message".
void LogLine(const Clock& clock, const std::string& place, const std::string& message, char severity = 'I');

}  // namespace flyball::cli
