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
  // `kubernetes`: what it gave there, as text; empty if it was not measured.
  void Add(std::string what, double value, std::string unit, Target target, std::string kubernetes);
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
  std::vector<Row> rows_;
};

}  // namespace flyball::bench
