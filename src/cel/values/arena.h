// Memory of one evaluation or of one program's constants: handed out in order, given back all at once.
// Confined to one thread while memory is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flyball::cel {

// Thrown inside the module when an evaluation may not go on; Program::Evaluate catches it.
struct EvaluationCancelled {};

class Arena {
 public:
  // More than this in one evaluation cancels it: the costs of some functions do not bound the size of their
  // results.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (auto it = finalizers_.rbegin(); it != finalizers_.rend(); ++it) it->destroy(it->object);
  }

  // Throws EvaluationCancelled beyond kMaxBytes.
  void* Allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    const std::uintptr_t start = (next_ + alignment - 1) & ~(alignment - 1);
    if (start + bytes <= end_) {
      next_ = start + bytes;
      return reinterpret_cast<void*>(start);
    }
    return AllocateSlowly(bytes, alignment);
  }
  template <typename T, typename... Args>
  T* New(Args&&... args) {
    T* object = new (Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>)
      finalizers_.push_back({object, [](void* p) { static_cast<T*>(p)->~T(); }});
    return object;
  }
  template <typename T>
  T* NewArray(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > kMaxBytes / sizeof(T)) throw EvaluationCancelled();
    return static_cast<T*>(Allocate(count * sizeof(T), alignof(T)));
  }
  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    char* copy = static_cast<char*>(Allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }

 private:
  struct Finalizer {
    void* object;
    void (*destroy)(void*);
  };
  void* AllocateSlowly(std::size_t bytes, std::size_t alignment);

  static constexpr std::size_t kInlineBytes = 512;
  alignas(std::max_align_t) std::byte first_[kInlineBytes];
  std::uintptr_t next_ = reinterpret_cast<std::uintptr_t>(first_);
  std::uintptr_t end_ = reinterpret_cast<std::uintptr_t>(first_) + kInlineBytes;
  std::size_t taken_ = 0;
  std::size_t chunk_bytes_ = 4096;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<Finalizer> finalizers_;
};

}  // namespace flyball::cel
