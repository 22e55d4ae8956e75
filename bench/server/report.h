// The table at the end: what was measured, what is wanted, and what kube-apiserver v1.34 with etcd 3.6 gave
// on the same class of machine.
#pragma once

#include <string>
#include <vector>

namespace flyball::bench {

struct Target {
  enum class Sense { kAtMost, kAtLeast, kNone } sense = Sense::kNone;
  double value = 0;
};
inline Target AtMost(double value) {
  return {Target::Sense::kAtMost, value};
}
inline Target AtLeast(double value) {
  return {Target::Sense::kAtLeast, value};
}

// Thread-compatible.
class Report {
 public:
  // Whether the server's process is ours: what it uses is known.
  explicit Report(bool own_process = true) : own_process_(own_process) {}
  // `kubernetes`: what it gave there, as text; empty if it was not measured.
  void Add(std::string what, double value, std::string unit, Target target, std::string kubernetes);
  // The same for what the server's process uses; dropped if that is not known.
  void AddUsage(std::string what, double value, std::string unit, Target target, std::string kubernetes) {
    if (own_process_) Add(std::move(what), value, std::move(unit), target, std::move(kubernetes));
  }
  // {"create, 1 client, p50": 0.4, ...}, for other programs.
  void WriteJson(const std::string& path) const;
  // To standard output. Returns how many targets were missed.
  int Print() const;

 private:
  struct Row {
    std::string what;
    double value;
    std::string unit;
    Target target;
    std::string kubernetes;
  };
  const bool own_process_;
  std::vector<Row> rows_;
};

}  // namespace flyball::bench
