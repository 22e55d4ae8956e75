// How work grows with the size of its input, measured so that other load does not count: tests of algorithms
// that must not search a list for each item of another.
#pragma once

#include <time.h>

#include <algorithm>
#include <functional>

namespace flyball {

inline double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The CPU seconds of what the function returned by prepare(size) does; preparing does not count.
inline double CpuSecondsFor(const std::function<std::function<void()>(int)>& prepare, int size) {
  const auto work = prepare(size);
  const double begin = ThreadCpuSeconds();
  work();
  return ThreadCpuSeconds() - begin;
}

// How many times longer the work takes for an input of eight times `size`: about 8 if it is linear, about 64
// if it is quadratic. The least of three, each of which is enough to show that it is not quadratic.
inline double GrowthOverEightfold(int size, const std::function<std::function<void()>(int)>& prepare) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i)
    least = std::min(least, CpuSecondsFor(prepare, 8 * size) / std::max(CpuSecondsFor(prepare, size), 1e-6));
  return least;
}
// Between the two, far from both.
constexpr double kMostGrowthOverEightfold = 24;

}  // namespace flyball
