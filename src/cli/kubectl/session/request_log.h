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

}  // namespace flyball::cli
