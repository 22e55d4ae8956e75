// Every allocation of a parse fails once: whatever comes of it, it is not the sender's fault.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "json/json.h"
#include "json/yaml/yaml.h"

namespace {
thread_local int g_allocations_left = -1;  // -1: no limit
}  // namespace

void* operator new(std::size_t size) {
  if (g_allocations_left >= 0 && g_allocations_left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace flyball::json {
namespace {

// Fails the first, second, third ... allocation of the parse until it needs no more.
template <typename Parse>
void FailEachAllocation(Parse parse) {
  ASSERT_TRUE(parse());  // libraries that set themselves up at the first use have done so
  for (int n = 0; n < 10'000; ++n) {
    std::optional<Result<Value>> parsed;
    g_allocations_left = n;
    try {
      parsed.emplace(parse());
    } catch (const std::bad_alloc&) {
      // The request handler answers 500.
    }
    const bool all = g_allocations_left >= 0;
    g_allocations_left = -1;
    if (parsed && !*parsed) {
      EXPECT_EQ(parsed->error().code(), 500) << n << ": " << parsed->error().message();
    }
    if (all) return;
  }
  FAIL() << "never enough";
}

TEST(OutOfMemoryTest, YamlIsNotABadRequest) {
  FailEachAllocation(
      [] { return ParseYaml("a: [1, 2, {b: \"some longer text that needs the heap\"}]\nc: d\n"); });
}

TEST(OutOfMemoryTest, JsonIsNotABadRequest) {
  const std::string large = R"({"text":")" + std::string(200'000, 'x') + R"("})";
  FailEachAllocation([&] { return Parse(large); });
}

}  // namespace
}  // namespace flyball::json
