#include "cel/values/arena.h"

#include <algorithm>

namespace flyball::cel {

void* Arena::AllocateSlowly(std::size_t bytes, std::size_t alignment) {
  const std::size_t wanted = bytes + alignment;
  const std::size_t chunk = std::max(wanted, chunk_bytes_);
  if (bytes > kMaxBytes || taken_ + chunk > kMaxBytes) throw EvaluationCancelled();
  taken_ += chunk;
  chunk_bytes_ = std::min<std::size_t>(chunk_bytes_ * 2, 1 << 20);
  chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk));
  next_ = reinterpret_cast<std::uintptr_t>(chunks_.back().get());
  end_ = next_ + chunk;
  return Allocate(bytes, alignment);
}

}  // namespace flyball::cel
