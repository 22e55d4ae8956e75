// An object may be missing together with its namespace, which says more.
#pragma once

#include <optional>
#include <string_view>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

// The server's error if there is no such namespace.
std::optional<Error> MissingNamespace(Session& session, std::string_view ns);

}  // namespace flyball::cli
