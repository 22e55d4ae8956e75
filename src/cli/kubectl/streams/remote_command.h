// Runs a command in a container, or attaches to one: standard streams over one WebSocket (subprotocol
// v5.channel.k8s.io).
#pragma once

#include <unistd.h>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

struct RemoteStreams {
  bool in = false;   // pass the input on
  bool tty = false;  // standard input is a terminal: raw, with its size
  // Where the input comes from and the command's output goes.
  int input = STDIN_FILENO, output = STDOUT_FILENO;
};

// Sends the request and pumps the streams until the command ends. Returns its exit status. The terminal is
// put back as it was.
Result<int> RunRemote(Session& session, RestRequest request, const RemoteStreams& streams);

}  // namespace flyball::cli
