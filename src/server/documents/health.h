// The checks of /healthz, /livez and /readyz, each with a page of its own. Functions only.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/values/result.h"

namespace flyball::server {

using HealthCheck = std::pair<std::string, std::function<Status()>>;

// The checks of a page ("/readyz") in upstream's order. `own` are those of this server: ping, log, etcd, ...
// `shutdown` fails from the moment on that the server ends.
std::vector<HealthCheck> HealthChecksOf(std::string_view page, const std::vector<HealthCheck>& own,
                                        const std::function<Status()>& shutdown);

// The pages themselves and those of their checks.
std::vector<std::string> HealthPaths(const std::vector<HealthCheck>& own);

}  // namespace flyball::server
