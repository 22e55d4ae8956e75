#include "node/stats/process_usage.h"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace flyball::node {
namespace {

constexpr std::uint64_t kNanosPerSecond = 1'000'000'000;

// The fields of /proc/<pid>/stat from the third on: the name before them may hold anything.
std::vector<std::string> StatFields(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  std::vector<std::string> fields;
  if (end == std::string::npos) return fields;
  std::istringstream rest(line.substr(end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

std::uint64_t FieldNumber(const std::vector<std::string>& fields, std::size_t number) {
  constexpr std::size_t kFirst = 3;
  std::uint64_t value = 0;
  const std::string& text = fields[number - kFirst];
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

ResourceUsage UsageOf(const std::vector<std::string>& fields) {
  static const auto kTicks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  static const auto kPage = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  ResourceUsage usage;
  // utime, stime, and those of children that were waited for.
  for (const std::size_t field : {14, 15, 16, 17})
    usage.cpu_nanos += FieldNumber(fields, field) * (kNanosPerSecond / kTicks);
  usage.rss = usage.memory = usage.working_set = FieldNumber(fields, 24) * kPage;
  usage.page_faults = FieldNumber(fields, 10);
  usage.major_page_faults = FieldNumber(fields, 12);
  usage.processes = 1;
  return usage;
}

}  // namespace

std::map<pid_t, ResourceUsage> ReadSessionUsage(const std::set<pid_t>& sessions, TimePoint now) {
  constexpr std::size_t kLeastFields = 22, kSession = 6;
  std::map<pid_t, ResourceUsage> all;
  if (sessions.empty()) return all;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), &closedir);
  while (const dirent* entry = proc ? readdir(proc.get()) : nullptr) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const auto fields = StatFields(entry->d_name);
    if (fields.size() < kLeastFields) continue;
    const auto session = static_cast<pid_t>(FieldNumber(fields, kSession));
    if (sessions.contains(session)) all[session] += UsageOf(fields);
  }
  for (auto& [session, usage] : all) usage.at = now;
  return all;
}

}  // namespace flyball::node
