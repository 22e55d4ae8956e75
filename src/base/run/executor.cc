#include "base/run/executor.h"

namespace flyball {

ThreadPool::ThreadPool(std::string name, int threads, const Clock& clock, Priority priority)
    : name_(std::move(name)), clock_(clock), priority_(priority), timers_(name_ + "-timer") {
  MutexLock lock(mu_);
  for (int i = 0; i < threads; ++i) StartWorker();
}

ThreadPool::~ThreadPool() {
  Stop();
}

void ThreadPool::Stop() {
  std::deque<Closure> dropped;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    dropped.swap(queue_);
    work_ready_.NotifyAll();
  }
  timers_.Stop();
  std::list<Worker> workers;
  {
    MutexLock lock(mu_);
    workers.swap(workers_);
  }
  for (Worker& worker : workers) worker.thread.Join();
}

void ThreadPool::StartWorker() {
  Worker* worker = &workers_.emplace_back();
  worker->thread = Thread(name_ + "-" + std::to_string(started_++), [this, worker] { RunWorker(worker); });
}

void ThreadPool::AddSpare() {
  MutexLock lock(mu_);
  if (stopping_) return;
  workers_.remove_if([](const Worker& worker) { return worker.ended; });
  StartWorker();
}

void ThreadPool::RemoveSpare() {
  MutexLock lock(mu_);
  ++surplus_;
  work_ready_.NotifyOne();
}

void ThreadPool::Post(Closure fn) {
  MutexLock lock(mu_);
  if (stopping_) return;
  queue_.push_back(std::move(fn));
  work_ready_.NotifyOne();
}

TimerId ThreadPool::PostAt(SteadyTime when, Closure fn) {
  return timers_.Add(when, [this, fn = std::move(fn)]() mutable { Post(std::move(fn)); });
}

bool ThreadPool::Cancel(TimerId id) {
  return timers_.Cancel(id);
}

void ThreadPool::RunWorker(Worker* self) {
  if (priority_ == Priority::kBackground) LowerThisThreadsPriority();
  for (;;) {
    Closure fn;
    {
      MutexLock lock(mu_);
      while (queue_.empty() && !stopping_ && surplus_ == 0) work_ready_.Wait(mu_);
      if (stopping_) return;
      if (surplus_ > 0) {
        --surplus_;
        self->ended = true;
        // A wake-up meant for work must not be lost.
        work_ready_.NotifyOne();
        return;
      }
      fn = std::move(queue_.front());
      queue_.pop_front();
    }
    fn();
  }
}

// Pending closures, shared with the underlying executor so that a Strand may be destroyed before they have
// run. They often own the owner of the Strand: if the executor drops the turn that would have run them, they
// are dropped too.
struct Strand::State {
  Mutex mu;
  std::deque<Closure> queue FLYBALL_GUARDED_BY(mu);
  bool running FLYBALL_GUARDED_BY(mu) = false;

  // Returns true if the caller must schedule a drain.
  bool Push(Closure fn) {
    MutexLock lock(mu);
    queue.push_back(std::move(fn));
    return !std::exchange(running, true);
  }

  void Drop() {
    std::deque<Closure> dropped;  // destroyed outside the lock: they may own anything
    MutexLock lock(mu);
    dropped.swap(queue);
    running = false;
  }

  // The closure that the underlying executor runs.
  class Turn {
   public:
    Turn(Executor& executor, std::shared_ptr<State> state) : executor_(executor), state_(std::move(state)) {}
    Turn(Turn&&) noexcept = default;
    ~Turn() {
      if (state_) state_->Drop();
    }
    void operator()() { RunOne(executor_, std::move(state_)); }

   private:
    Executor& executor_;
    std::shared_ptr<State> state_;
  };

  static void RunOne(Executor& executor, std::shared_ptr<State> state) {
    Closure fn;
    {
      MutexLock lock(state->mu);
      fn = std::move(state->queue.front());
      state->queue.pop_front();
    }
    fn();
    fn = nullptr;
    {
      MutexLock lock(state->mu);
      if (state->queue.empty()) {
        state->running = false;
        return;
      }
    }
    // One closure per turn, so that a busy strand does not keep a thread from the others.
    executor.Post(Turn(executor, std::move(state)));
  }

  static void Post(Executor& executor, const std::shared_ptr<State>& state, Closure fn) {
    if (state->Push(std::move(fn))) executor.Post(Turn(executor, state));
  }
};

Strand::Strand(Executor& executor) : executor_(executor), state_(std::make_shared<State>()) {}

void Strand::Post(Closure fn) {
  State::Post(executor_, state_, std::move(fn));
}

TimerId Strand::PostAt(SteadyTime when, Closure fn) {
  return executor_.PostAt(when, [&executor = executor_, state = state_, fn = std::move(fn)]() mutable {
    State::Post(executor, state, std::move(fn));
  });
}

bool Strand::Cancel(TimerId id) {
  return executor_.Cancel(id);
}

}  // namespace flyball
