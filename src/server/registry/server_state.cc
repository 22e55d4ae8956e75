#include "server/registry/server_state.h"

#include <exception>
#include <utility>

#include "base/observe/log.h"

namespace flyball::server {
namespace {

std::string ReasonOf(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "not said";
  }
}

}  // namespace

void SpawnOwn(Task<void> task, const char* what) {
  Spawn(std::move(task), [what](std::exception_ptr exception) {
    if (exception)
      log::Error("the server's own work failed", {{"what", what}, {"error", ReasonOf(exception)}});
  });
}

Task<void> ServerState::ContinueOnWorker(RequestScope& scope) const {
  if (workers == nullptr) co_return;
  scope.executor = *workers;
  co_await ResumeOn(scope.executor);
}

}  // namespace flyball::server
