#include "base/run/thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace flyball {

Thread::Thread(std::string name, Closure body)
    : thread_([name = std::move(name), body = std::move(body)] {
        // The kernel keeps 15 characters.
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        body();
      }) {}

void Thread::Join() {
  if (thread_.joinable()) thread_.join();
}

std::uint64_t TimerThread::Add(SteadyTime when, Closure fn) {
  std::lock_guard lock(mu_);
  if (stopping_) return 0;
  const std::uint64_t id = next_id_++;
  const auto it = timers_.emplace(std::pair(when, id), std::move(fn)).first;
  when_.emplace(id, when);
  if (id == 1) thread_ = Thread(name_, [this] { Run(); });
  if (it == timers_.begin()) changed_.notify_one();
  return id;
}

bool TimerThread::Cancel(std::uint64_t id) {
  Closure dropped;  // destroyed outside the lock: it may own anything
  std::lock_guard lock(mu_);
  const auto it = when_.find(id);
  if (it == when_.end()) return false;
  const auto timer = timers_.find({it->second, id});
  dropped = std::exchange(timer->second, nullptr);
  when_.erase(it);
  // The first one stays, empty, until it is due: the thread sleeps until then anyway, and the next timer,
  // which is mostly later, need not wake it. Deadlines that are set and cancelled in turn would each cost a
  // wake-up.
  if (timer != timers_.begin()) timers_.erase(timer);
  return true;
}

void TimerThread::Stop() {
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.Join();
}

void TimerThread::Run() {
  std::unique_lock lock(mu_);
  while (!stopping_) {
    if (timers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = timers_.begin();
    const SteadyTime when = first->first.first;
    if (std::chrono::steady_clock::now() < when) {
      changed_.wait_until(lock, when);
      continue;
    }
    Closure fn = std::move(first->second);
    when_.erase(first->first.second);
    timers_.erase(first);
    if (!fn) continue;  // cancelled
    lock.unlock();
    fn();
    fn = nullptr;
    lock.lock();
  }
}

void LowerThisThreadsPriority() {
  // On Linux this is of the thread, not of the process.
  constexpr int kNice = 5;
  [[maybe_unused]] const int done =
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
}

void SleepFor(Duration d) {
  std::this_thread::sleep_for(d);
}

}  // namespace flyball
