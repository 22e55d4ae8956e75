// What answers in place of an API server whose store cannot be read yet.
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::cli {

// Serves /livez, /healthz and /readyz, with one check of this name, and answers 503 to all else. `check` is
// called on I/O threads and must not block.
net::Handler UnreadyHandler(std::string name, std::function<Status()> check);

}  // namespace flyball::cli
