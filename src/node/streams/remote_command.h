// exec and attach: a client's streams joined to a process'.
#pragma once

#include <memory>
#include <string>

#include "node/pod/pod_source.h"
#include "node/streams/remote_streams.h"

namespace flyball::node {

enum class RemoteAction { kExec, kAttach };

// Starts the command, or attaches to the container, and goes on until the process ends or the client leaves.
// What cannot be started is told as the protocol tells how a process ended.
void RunRemoteCommand(RemoteAction action, const FoundPod& pod, const StreamRequest& request,
                      std::shared_ptr<RemoteStreams> streams);

// How an exec ended, as a Status (upstream: remotecommand.ServeExec).
json::Value ExecStatus(const StreamRequest& request, const ContainerExit& exit);

}  // namespace flyball::node
