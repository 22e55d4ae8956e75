// Outbox: what a client's connection outside HTTP has queued, for its session to send.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "net/io/byte_stream.h"
#include "net/io/channel.h"

namespace flyball::net {

// Thread-safe, except Take and Close, which are the session's.
class Outbox final : public ByteStream, public Notifiable, public std::enable_shared_from_this<Outbox> {
 public:
  explicit Outbox(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}

  bool Write(Bytes bytes) override;
  void End() override;
  void Abort() override;
  std::size_t pending_bytes() const override { return pending_.load(std::memory_order_relaxed); }
  void OnDrained(std::size_t low, Closure fn) override;
  void SetPaused(bool paused) override;

  bool paused() const { return paused_.load(std::memory_order_relaxed); }
  // Moves one piece: each is to be a TLS record of its own. True if it was the last and there will be no
  // more.
  bool Take(std::string& out);
  // The connection is gone.
  void Close();

 private:
  struct Drain {
    std::size_t low;
    Closure fn;
  };
  void RunDrained();

  const std::shared_ptr<Channel> channel_;
  std::atomic<std::size_t> pending_{0};
  std::atomic<bool> paused_{false};
  Mutex mu_;
  std::deque<Bytes> queue_ FLYBALL_GUARDED_BY(mu_);
  std::vector<Drain> drains_ FLYBALL_GUARDED_BY(mu_);
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball::net
