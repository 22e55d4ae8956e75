// LogSource: who can read the logs of some pods.
#pragma once

#include <string>

#include "base/unique_function.h"
#include "node/runtime.h"

namespace flyball::node {

// A question for a log, before anybody knows which start of the container it is about.
struct LogRequest {
  LogQuery query;  // without UID and attempt
  bool previous = false;
  std::int64_t since_seconds = -1;
};

// Thread-safe.
class LogSource {
 public:
  virtual ~LogSource() = default;
  // Passes the log to the sink; or calls not_here if the pod is not one of this source's.
  virtual void ReadLog(LogRequest request, LogSink sink, Closure not_here) = 0;
};

}  // namespace flyball::node
