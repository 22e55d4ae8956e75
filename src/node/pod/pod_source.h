// PodSource: who knows some pods of this process' nodes: their logs, and where their containers run.
#pragma once

#include <functional>
#include <string>

#include "base/values/unique_function.h"
#include "json/value.h"
#include "node/runtime/runtime.h"
#include "node/stats/usage.h"

namespace flyball::node {

// A question for a log, before anybody knows which start of the container it is about.
struct LogRequest {
  LogQuery query;  // without UID and attempt
  bool previous = false;
  std::int64_t since_seconds = -1;
};

struct PodQuery {
  std::string pod_namespace, pod_name;
  std::string container;  // empty: any
};

// A pod that runs here, and the container that was asked for.
struct FoundPod {
  ContainerRuntime* runtime = nullptr;  // outlives the source
  std::string pod_uid, pod_ip;
  std::string container_id;         // the runtime's; empty if there is none such, or it does not run
  bool tty = false;                 // of the container's own process
  std::string network_namespace{};  // of its own, where every port is its; empty: the node's
};

// What to find out about pods.
enum class StatsDetail {
  kMachine,  // nothing: only about the machine
  kUse,      // processor and memory
  kLimited,  // that, and the disk where the pod has limits on that
  kAll,      // that, and the disk: looks at all that they have written
};

// Thread-safe.
class PodSource {
 public:
  virtual ~PodSource() = default;
  // Whose pods they are.
  virtual const std::string& node_name() const = 0;
  // Passes the log to the sink; or calls not_here if the pod is not one of this source's.
  virtual void ReadLog(LogRequest request, LogSink sink, Closure not_here) = 0;
  // Calls one of the two, from any thread.
  virtual void Find(PodQuery query, std::function<void(const FoundPod&)> found, Closure not_here) = 0;
  // What is used on the node now. `done` is called once, from any thread.
  virtual void ReadStats(StatsDetail detail, std::function<void(const NodeStats& stats)> done) = 0;
  // The pods it has, as `kubectl get` would list them.
  virtual void ListPods(std::function<void(json::Value list)> done) = 0;
};

}  // namespace flyball::node
