#include "net/h2/h2_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace flyball::net {

namespace {

constexpr std::size_t kLazyFrom = 8u << 10;

// Before each block: its size, which tells where it came from. Keeps the alignment of malloc.
struct alignas(16) BlockHead {
  std::size_t size;
};

BlockHead* HeadOf(void* p) {
  return static_cast<BlockHead*>(p) - 1;
}

void* Allocate(std::size_t size, bool zero) {
  const std::size_t total = size + sizeof(BlockHead);
  void* raw = nullptr;
  if (size >= kLazyFrom) {
    raw = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
  } else {
    raw = zero ? std::calloc(1, total) : std::malloc(total);
    if (!raw) return nullptr;
  }
  auto* head = static_cast<BlockHead*>(raw);
  head->size = size;
  return head + 1;
}

void Free(void* p, void*) {
  if (!p) return;
  BlockHead* head = HeadOf(p);
  if (head->size >= kLazyFrom)
    munmap(head, head->size + sizeof(BlockHead));
  else
    std::free(head);
}

void* Malloc(std::size_t size, void*) {
  return Allocate(size, false);
}

void* Calloc(std::size_t count, std::size_t size, void*) {
  if (size != 0 && count > SIZE_MAX / 2 / size) return nullptr;
  return Allocate(count * size, true);
}

void* Realloc(void* p, std::size_t size, void*) {
  void* moved = Allocate(size, false);
  if (!p || !moved) return moved;
  std::memcpy(moved, p, std::min(size, HeadOf(p)->size));
  Free(p, nullptr);
  return moved;
}

}  // namespace

nghttp2_mem* LazyH2Memory() {
  static nghttp2_mem memory{nullptr, &Malloc, &Free, &Calloc, &Realloc};
  return &memory;
}

}  // namespace flyball::net
