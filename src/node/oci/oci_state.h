// What the OCI runtime knows about pods and containers, shared by its parts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "node/oci/container_bundle.h"
#include "node/oci/container_streams.h"
#include "node/oci/monitor_client.h"

namespace flyball::node {

struct OciPod {
  std::string uid, folder, node;
  // Held by whoever starts, ends or removes something of the pod.
  Mutex work;
  pid_t monitor = 0;
  std::shared_ptr<MonitorConnection> connection;  // null: no monitor runs
};

struct OciContainer {
  std::shared_ptr<OciPod> pod;
  ContainerRecord record;
  ContainerBundle bundle{""};
  pid_t pid = 0;
  unsigned long long start_time = 0;  // of the process, which with the pid names it
  std::shared_ptr<ContainerStreams> streams;
  std::shared_ptr<Notification<Result<pid_t>>> starting;  // null once that is known
  UniqueFunction<void(ContainerExit)> exited;             // null: nobody has adopted it yet
  std::optional<RecordedExit> exit;
  bool lost = false;  // nobody saw its end
};

// Exit code and reason, from a wait status and what else is known.
ContainerExit DescribeExit(const OciContainer& container, const RecordedExit& exit);

}  // namespace flyball::node
