#include "base/observe/fatal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>

namespace flyball {
namespace {

void Escape(const std::function<void()>& fn) noexcept {
  fn();
}

TEST(FatalDeathTest, AnExceptionNobodyCaughtIsLoggedBeforeTheEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        InstallFatalHandlers();
        Escape([] { throw std::bad_alloc(); });
      },
      "FATAL the process ends .* what=\"out of memory\"");
  EXPECT_DEATH(
      {
        InstallFatalHandlers();
        Escape([] { throw std::runtime_error("no such luck"); });
      },
      "what=\"no such luck\"");
}

// The reserve lets the allocation that failed be tried again, and says so; after that they fail as usual.
TEST(FatalDeathTest, TheFirstFailedAllocationIsLogged) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        InstallFatalHandlers();
        std::get_new_handler()();
        std::abort();
      },
      "ERROR an allocation failed: the process is at its memory limit");
}

}  // namespace
}  // namespace flyball
