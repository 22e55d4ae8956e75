#include "cli/kubectl/verbs/rollout_status.h"

#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

std::string Quoted(const json::Value& object) {
  return "\"" + std::string(object["metadata"]["name"].string_or("")) + "\"";
}

bool Observed(const json::Value& object) {
  return object["metadata"]["generation"].int_or(0) <= object["status"]["observedGeneration"].int_or(0);
}

Result<RolloutState> DeploymentState(const json::Value& object) {
  if (!Observed(object)) return RolloutState{"Waiting for deployment spec update to be observed...\n"};
  const json::Value& status = object["status"];
  const std::string name = Quoted(object);
  if (status["conditions"].is_array())
    for (const json::Value& condition : status["conditions"].as_array())
      if (condition["type"].string_or("") == "Progressing" &&
          condition["reason"].string_or("") == "ProgressDeadlineExceeded")
        return Unexpected(LocalError("deployment " + name + " exceeded its progress deadline"));
  const std::int64_t wanted = object["spec"]["replicas"].int_or(1);
  const std::int64_t updated = status["updatedReplicas"].int_or(0), all = status["replicas"].int_or(0);
  const std::int64_t available = status["availableReplicas"].int_or(0);
  const std::string waiting = "Waiting for deployment " + name + " rollout to finish: ";
  if (updated < wanted)
    return RolloutState{waiting + std::to_string(updated) + " out of " + std::to_string(wanted) +
                        " new replicas have been updated...\n"};
  if (all > updated)
    return RolloutState{waiting + std::to_string(all - updated) +
                        " old replicas are pending termination...\n"};
  if (available < updated)
    return RolloutState{waiting + std::to_string(available) + " of " + std::to_string(updated) +
                        " updated replicas are available...\n"};
  return RolloutState{"deployment " + name + " successfully rolled out\n", true};
}

Result<RolloutState> DaemonSetState(const json::Value& object) {
  if (object["spec"]["updateStrategy"]["type"].string_or("RollingUpdate") != "RollingUpdate")
    return Unexpected(LocalError("rollout status is only available for RollingUpdate strategy type"));
  if (!Observed(object)) return RolloutState{"Waiting for daemon set spec update to be observed...\n"};
  const json::Value& status = object["status"];
  const std::string name = Quoted(object);
  const std::int64_t wanted = status["desiredNumberScheduled"].int_or(0);
  const std::int64_t updated = status["updatedNumberScheduled"].int_or(0);
  const std::int64_t available = status["numberAvailable"].int_or(0);
  const std::string waiting = "Waiting for daemon set " + name + " rollout to finish: ";
  if (updated < wanted)
    return RolloutState{waiting + std::to_string(updated) + " out of " + std::to_string(wanted) +
                        " new pods have been updated...\n"};
  if (available < wanted)
    return RolloutState{waiting + std::to_string(available) + " of " + std::to_string(wanted) +
                        " updated pods are available...\n"};
  return RolloutState{"daemon set " + name + " successfully rolled out\n", true};
}

Result<RolloutState> StatefulSetState(const json::Value& object) {
  if (object["spec"]["updateStrategy"]["type"].string_or("RollingUpdate") != "RollingUpdate")
    return Unexpected(LocalError("rollout status is only available for RollingUpdate strategy type"));
  if (!Observed(object)) return RolloutState{"Waiting for statefulset spec update to be observed...\n"};
  const json::Value& status = object["status"];
  const std::int64_t wanted = object["spec"]["replicas"].int_or(1), ready = status["readyReplicas"].int_or(0);
  if (ready < wanted)
    return RolloutState{"Waiting for " + std::to_string(wanted - ready) + " pods to be ready...\n"};
  const json::Value& wanted_partition = object["spec"]["updateStrategy"]["rollingUpdate"]["partition"];
  const std::int64_t updated = status["updatedReplicas"].int_or(0);
  // The server's default is 0: a partitioned rollout of everything.
  if (const std::int64_t partition = wanted_partition.int_or(0); wanted_partition.is_int()) {
    if (updated < wanted - partition)
      return RolloutState{"Waiting for partitioned roll out to finish: " + std::to_string(updated) +
                          " out of " + std::to_string(wanted - partition) +
                          " new pods have been updated...\n"};
    return RolloutState{
        "partitioned roll out complete: " + std::to_string(updated) + " new pods have been updated...\n",
        true};
  }
  if (!(status["updateRevision"] == status["currentRevision"]))
    return RolloutState{"waiting for statefulset rolling update to complete " + std::to_string(updated) +
                        " pods at revision " + std::string(status["updateRevision"].string_or("")) + "...\n"};
  return RolloutState{"statefulset rolling update complete " +
                          std::to_string(status["currentReplicas"].int_or(0)) + " pods at revision " +
                          std::string(status["currentRevision"].string_or("")) + "...\n",
                      true};
}

}  // namespace

Result<RolloutState> RolloutStateOf(const json::Value& object) {
  const std::string_view kind = object["kind"].string_or("");
  if (kind == "Deployment") return DeploymentState(object);
  if (kind == "DaemonSet") return DaemonSetState(object);
  if (kind == "StatefulSet") return StatefulSetState(object);
  return Unexpected(LocalError("no status viewer has been implemented for " + std::string(kind)));
}

}  // namespace flyball::cli
