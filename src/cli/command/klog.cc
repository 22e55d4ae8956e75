#include "cli/command/klog.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>

namespace flyball::cli {

void LogLine(const Clock& clock, const std::string& place, const std::string& message, char severity) {
  const auto now = std::chrono::floor<std::chrono::microseconds>(clock.Now().time_since_epoch());
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(now).count();
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char date[32], head[64];
  std::strftime(date, sizeof date, "%m%d %H:%M:%S", &parts);
  std::snprintf(head, sizeof head, "%c%s.%06lld %7d ", severity, date,
                static_cast<long long>(now.count() % 1'000'000), ::getpid());
  std::cerr << head + place + "] " + message + "\n" << std::flush;
}

}  // namespace flyball::cli
