// kube-apiserver's flags of auditing.
#pragma once

#include <functional>

#include "base/values/result.h"
#include "server/audit/audit_options.h"

namespace CLI {
class App;
}

namespace flyball::cli {

// Adds the flags to the command. Calling what is returned, once they are parsed, completes `options`
// (durations); both must live until then.
std::function<Status()> AddAuditFlags(CLI::App& command, server::AuditOptions& options);

}  // namespace flyball::cli
