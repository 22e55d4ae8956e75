#include "base/run/task.h"

namespace flyball {
namespace task_internal {

Detached RunDetached(Task<void> task, UniqueFunction<void(std::exception_ptr)> done) {
  std::exception_ptr exception;
  try {
    co_await std::move(task);
  } catch (...) {
    exception = std::current_exception();
  }
  done(exception);
}

}  // namespace task_internal

void Spawn(Task<void> task, UniqueFunction<void(std::exception_ptr)> done) {
  task_internal::RunDetached(std::move(task), std::move(done));
}

}  // namespace flyball
