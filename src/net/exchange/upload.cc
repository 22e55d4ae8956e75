#include "net/exchange/upload.h"

#include <utility>

namespace flyball::net {

void Upload::Write(std::string_view bytes) {
  MutexLock lock(mu_);
  if (ended_) return;
  bytes_ += bytes;
  if (grown_) grown_();
}

void Upload::End() {
  MutexLock lock(mu_);
  ended_ = true;
  if (grown_) grown_();
}

void Upload::OnGrowth(Closure grown) {
  MutexLock lock(mu_);
  grown_ = std::move(grown);
}

std::size_t Upload::pending() const {
  MutexLock lock(mu_);
  return bytes_.size();
}

bool Upload::ended() const {
  MutexLock lock(mu_);
  return ended_;
}

void Upload::Take(std::size_t size, std::string& out) {
  MutexLock lock(mu_);
  out.append(bytes_, 0, size);
  bytes_.erase(0, size);
}

}  // namespace flyball::net
