// SpareThread: while it lives, another thread of the executor works in place of this one, which waits for a
// plugin or for the API server.
#pragma once

#include "base/run/executor.h"

namespace flyball::node {

class SpareThread {
 public:
  explicit SpareThread(Executor& executor) : executor_(executor) { executor_.AddSpare(); }
  ~SpareThread() { executor_.RemoveSpare(); }
  SpareThread(const SpareThread&) = delete;
  SpareThread& operator=(const SpareThread&) = delete;

 private:
  Executor& executor_;
};

}  // namespace flyball::node
