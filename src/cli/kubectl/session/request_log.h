// The requests of a command on standard error, for -v 6 and above, in the form that client-go logs them
// (klog).
#pragma once

#include <memory>
#include <string>

#include "base/run/clock.h"
#include "net/http/http.h"

namespace flyball::cli {

// The verbosity from which on something is logged, as in client-go.
inline constexpr int kLogResponses = 6;
inline constexpr int kLogRequests = 7;         // with headers
inline constexpr int kLogResponseHeaders = 8;  // and bodies

// Logs what goes through `transport` to the server at `url`. Thread-safe.
std::shared_ptr<net::Transport> NewLoggedTransport(std::shared_ptr<net::Transport> transport, std::string url,
                                                   int verbosity, const Clock& clock);

// One line as klog prints it: "I1118 20:24:49.158060   17283 loader.go:408] message".
void LogLine(const Clock& clock, const std::string& place, const std::string& message);

}  // namespace flyball::cli
