// Attaching to the process of a container, for commands that start one.
#pragma once

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct AttachStreams {
  bool in = false, tty = false, quiet = false;
};

// Attaches to the pod's container (the first, if no name is given) until it ends; its exit status becomes the
// program's. If it has ended already, its log is printed.
Status AttachOrLog(Session& session, const json::Value& pod, const AttachStreams& streams,
                   const std::string& container = {});

}  // namespace flyball::cli
