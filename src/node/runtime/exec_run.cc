#include "node/runtime/exec_run.h"

#include <algorithm>
#include <utility>

#include "base/run/mutex.h"

namespace flyball::node {
namespace {

// Of what an exec probe writes, enough for its event.
constexpr std::size_t kMaxExecOutput = 10240;

struct Run {
  Mutex mu;
  ExecResult result FLYBALL_GUARDED_BY(mu);
  TimerId timer FLYBALL_GUARDED_BY(mu) = kNoTimer;
  bool ended FLYBALL_GUARDED_BY(mu) = false;
  UniqueFunction<void(Result<ExecResult>)> done;
};

StreamEvents EventsOf(const std::shared_ptr<Run>& run, Executor& executor) {
  StreamEvents events;
  events.output = [run](Stream, std::string_view data) {
    MutexLock lock(run->mu);
    run->result.output.append(
        data.substr(0, kMaxExecOutput - std::min(kMaxExecOutput, run->result.output.size())));
  };
  events.input_taken = [](std::size_t) {};
  events.ended = [run, &executor](const ContainerExit& exit) {
    ExecResult result;
    {
      MutexLock lock(run->mu);
      run->ended = true;
      run->result.exit_code = exit.exit_code;
      if (run->timer != kNoTimer) executor.Cancel(run->timer);
      result = std::move(run->result);
    }
    run->done(std::move(result));
  };
  return events;
}

}  // namespace

void RunExec(Executor& executor, const OpenExecFn& open, const std::vector<std::string>& command,
             Duration timeout, UniqueFunction<void(Result<ExecResult>)> done) {
  const auto run = std::make_shared<Run>();
  run->done = std::move(done);
  const auto handle = open({.command = command, .stdout = true, .stderr = true}, EventsOf(run, executor));
  if (!handle) return run->done(Unexpected(handle.error()));
  MutexLock lock(run->mu);
  if (run->ended) return;
  run->timer = executor.PostAfter(timeout, [run, handle = *handle] {
    {
      MutexLock timed(run->mu);
      run->result.timed_out = true;
    }
    handle->Stop();
  });
}

}  // namespace flyball::node
