#include "base/observe/fatal.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

namespace flyball {
namespace {

constexpr std::size_t kReserveBytes = 1u << 20;
std::atomic<void*> g_reserve{nullptr};

// No allocation: there may be nothing to allocate.
void WriteFatal(std::string_view what) {
  char line[512];
  std::size_t size = 0;
  const auto append = [&](std::string_view text) {
    text = text.substr(0, sizeof line - size);
    std::memcpy(line + size, text.data(), text.size());
    size += text.size();
  };
  append("FATAL the process ends after an exception that nobody caught what=\"");
  append(what.substr(0, sizeof line / 2));
  append("\"\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, size);
}

[[noreturn]] void LogAndAbort() {
  try {
    if (const auto current = std::current_exception()) std::rethrow_exception(current);
    WriteFatal("terminate was called");
  } catch (const std::bad_alloc&) {
    WriteFatal("out of memory");
  } catch (const std::exception& e) {
    WriteFatal(e.what());
  } catch (...) {
    WriteFatal("unknown exception");
  }
  std::abort();
}

// Frees the reserve once; after that allocations fail with std::bad_alloc as usual.
void GiveUpReserve() {
  void* reserve = g_reserve.exchange(nullptr);
  if (reserve == nullptr) throw std::bad_alloc();
  std::free(reserve);
  constexpr std::string_view kLine = "ERROR an allocation failed: the process is at its memory limit\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
}

}  // namespace

void InstallFatalHandlers() {
  std::set_terminate(LogAndAbort);
  if (g_reserve.load() == nullptr) g_reserve = std::malloc(kReserveBytes);
  std::set_new_handler(GiveUpReserve);
}

}  // namespace flyball
