// WakeUp: lets other threads, and signal handlers, wake a thread that waits in poll().
#pragma once

namespace flyball::cli {

// Thread-safe. Ring may be called from a signal handler.
class WakeUp {
 public:
  WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  ~WakeUp();

  // Readable after Ring, until Clear.
  int descriptor() const { return descriptor_; }
  void Ring() const;
  void Clear() const;

 private:
  const int descriptor_;
};

}  // namespace flyball::cli
