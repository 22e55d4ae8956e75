#include "base/run/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace flyball {
namespace {

long ResidentKilobytesOfFiles() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:")) return std::stol(line.substr(8));
  return -1;
}

constexpr std::size_t kConstants = std::size_t{1} << 20;
// Between constants, so that its page is of a segment that is never written.
alignas(4096) const char kBytes[kConstants] = "constants";

TEST(MemoryTest, PagesOfTheProgramGoAndComeBack) {
  const volatile char* bytes = kBytes;
  int sum = 0;
  for (std::size_t i = 0; i < kConstants; i += 4096) sum += bytes[i];
  const long before = ResidentKilobytesOfFiles();
  LetGoOfProgramPages();
  EXPECT_LT(ResidentKilobytesOfFiles(), before - static_cast<long>(kConstants / 1024) / 2);
  int again = 0;
  for (std::size_t i = 0; i < kConstants; i += 4096) again += bytes[i];
  EXPECT_EQ(sum, again);
}

// What a debugger does for a breakpoint.
TEST(MemoryTest, APageThatIsNotAsInTheFileStays) {
  char* const page = const_cast<char*>(kBytes) + 2 * 4096;
  ASSERT_EQ(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
  *static_cast<volatile char*>(page) = 'b';
  ASSERT_EQ(mprotect(page, 4096, PROT_READ), 0);
  LetGoOfProgramPages();
  EXPECT_EQ(*static_cast<volatile char*>(page), 'b');
}

}  // namespace
}  // namespace flyball
