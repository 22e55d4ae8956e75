#include "report.h"

#include <cstdio>

namespace flyball::bench {
namespace {

// 8123 -> "8,123"; 0.1234 -> "0.123".
std::string Number(double value) {
  char text[64];
  if (value < 100) {
    std::snprintf(text, sizeof text, value < 10 ? "%.3f" : "%.1f", value);
    return text;
  }
  std::snprintf(text, sizeof text, "%.0f", value);
  std::string out = text;
  for (auto at = static_cast<long>(out.size()) - 3; at > 0; at -= 3)
    out.insert(static_cast<std::size_t>(at), ",");
  return out;
}

bool Missed(double value, const Target& target) {
  if (target.sense == Target::Sense::kAtMost) return value > target.value;
  return target.sense == Target::Sense::kAtLeast && value < target.value;
}

std::string TargetText(const Target& target, const std::string& unit) {
  if (target.sense == Target::Sense::kNone) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%s %g",
                target.sense == Target::Sense::kAtMost ? "<=" : ">=", target.value);
  return std::string(text) + " " + unit;
}

}  // namespace

void Report::Add(std::string what, double value, std::string unit, Target target, std::string kubernetes) {
  std::fprintf(stderr, "  %s: %s %s\n", what.c_str(), Number(value).c_str(), unit.c_str());
  rows_.push_back({std::move(what), value, std::move(unit), target, std::move(kubernetes)});
}

void Report::WriteJson(const std::string& path) const {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (!file) return;
  const char* separator = "{";
  for (const auto& row : rows_) {
    std::fprintf(file, "%s\n  \"%s\": %.6g", separator, row.what.c_str(), row.value);
    separator = ",";
  }
  std::fprintf(file, "\n}\n");
  std::fclose(file);
}

int Report::Print() const {
  int missed = 0;
  std::printf("| %-52s | %-16s | %-18s | %-28s |\n", "", "flyball", "target", "kube-apiserver + etcd");
  std::printf("|%s|%s|%s|%s|\n", std::string(54, '-').c_str(), std::string(18, '-').c_str(),
              std::string(20, '-').c_str(), std::string(30, '-').c_str());
  for (const auto& row : rows_) {
    const bool miss = Missed(row.value, row.target);
    missed += miss;
    std::printf("| %-52s | %-16s | %-18s | %-28s |\n", row.what.c_str(),
                (Number(row.value) + " " + row.unit).c_str(),
                (TargetText(row.target, row.unit) + (miss ? " MISSED" : "")).c_str(), row.kubernetes.c_str());
  }
  std::printf("%d targets missed\n", missed);
  return missed;
}

}  // namespace flyball::bench
