#include "base/values/unique_function.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace flyball {
namespace {

// Counts live instances, so that a target that leaks or is destroyed twice shows.
template <std::size_t kBytes>
struct Counted {
  explicit Counted(int& count) : alive(&count) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }
  int operator()(int x) { return x + *alive; }

  int* alive;
  std::array<char, kBytes> ballast{};
};

template <std::size_t kBytes>
void CheckLife() {
  int alive = 0;
  {
    UniqueFunction<int(int)> a = Counted<kBytes>(alive);
    EXPECT_EQ(alive, 1);
    UniqueFunction<int(int)> b = std::move(a);
    EXPECT_FALSE(a);
    EXPECT_EQ(b(10), 11);
    a = std::move(b);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(a(1), 2);
    a = Counted<kBytes>(alive);
    EXPECT_EQ(alive, 1);
    a = nullptr;
    EXPECT_EQ(alive, 0);
    b = Counted<kBytes>(alive);
  }
  EXPECT_EQ(alive, 0);
}

TEST(UniqueFunction, SmallTargetsLiveOnce) {
  CheckLife<1>();
}

TEST(UniqueFunction, LargeTargetsLiveOnce) {
  CheckLife<500>();
}

TEST(UniqueFunction, OwnsMoveOnlyState) {
  auto text = std::make_unique<std::string>("governor");
  UniqueFunction<std::string(std::string)> f = [text = std::move(text)](std::string more) {
    return *text + more;
  };
  EXPECT_EQ(f(" turns"), "governor turns");
}

TEST(UniqueFunction, ArgumentsAreMovedThrough) {
  UniqueFunction<std::unique_ptr<int>(std::unique_ptr<int>)> f = [](std::unique_ptr<int> p) { return p; };
  EXPECT_EQ(*f(std::make_unique<int>(7)), 7);
}

TEST(UniqueFunction, MayReplaceItselfWhileItRuns) {
  Closure f;
  int calls = 0;
  f = [&] {
    Closure self = std::move(f);
    ++calls;
    f = [&] { calls += 10; };
  };
  Closure run = std::move(f);
  run();
  f();
  EXPECT_EQ(calls, 11);
}

}  // namespace
}  // namespace flyball
