#include "net/io/outbox.h"

namespace flyball::net {

bool Outbox::Write(Bytes bytes) {
  {
    MutexLock lock(mu_);
    if (ended_) return false;
    if (bytes->empty()) return true;
    pending_.fetch_add(bytes->size(), std::memory_order_relaxed);
    queue_.push_back(std::move(bytes));
  }
  channel_->Notify(shared_from_this());
  return true;
}

void Outbox::End() {
  {
    MutexLock lock(mu_);
    ended_ = true;
  }
  channel_->Notify(shared_from_this());
}

void Outbox::Abort() {
  channel_->loop().Post(
      [channel = channel_] { channel->Close(Error(Reason::kCancelled, "the connection was given up")); });
}

void Outbox::OnDrained(std::size_t low, Closure fn) {
  {
    MutexLock lock(mu_);
    if (pending_bytes() > low) {
      drains_.push_back({low, std::move(fn)});
      return;
    }
  }
  channel_->loop().Post(std::move(fn));
}

void Outbox::SetPaused(bool paused) {
  if (paused_.exchange(paused) != paused && !paused) channel_->Notify(shared_from_this());
}

bool Outbox::Take(std::string& out) {
  bool over = false;
  {
    MutexLock lock(mu_);
    if (!queue_.empty()) {
      out.append(*queue_.front());
      pending_.fetch_sub(queue_.front()->size(), std::memory_order_relaxed);
      queue_.pop_front();
    }
    over = ended_ && queue_.empty();
  }
  RunDrained();
  return over;
}

void Outbox::Close() {
  {
    MutexLock lock(mu_);
    ended_ = true;
    queue_.clear();
    pending_.store(0, std::memory_order_relaxed);
  }
  RunDrained();
}

void Outbox::RunDrained() {
  std::vector<Closure> due;
  {
    MutexLock lock(mu_);
    std::erase_if(drains_, [&](Drain& drain) {
      if (drain.low < pending_bytes()) return false;
      due.push_back(std::move(drain.fn));
      return true;
    });
  }
  for (auto& fn : due) channel_->loop().Post(std::move(fn));
}

}  // namespace flyball::net
