// Feature gates: Kubernetes' switches for what is new or going away, by Kubernetes' own names. The table
// (schema/groups/feature.gates) holds each gate's state in each release. A gate matters here if a field of
// the API is behind it (`gate:` in the schema files) or code asks for it (schema/groups/feature.effects); any
// other can only be set to its default.
//
// Which gates are on is the same for the whole process, as in upstream's programs: set once at start.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::api {

enum class GateStage : std::uint8_t { kAlpha, kBeta, kGa, kDeprecated };

// The state of a gate from a release on.
struct GateSpec {
  std::int16_t minor;  // of 1.x
  GateStage stage;
  bool on;
  bool locked;  // cannot be changed
};

struct GateInfo {
  std::string_view name;
  std::span<const GateSpec> specs;  // oldest first
  std::string_view effect;          // empty: it changes nothing here
};

// Every gate of the version spoken, by name.
std::span<const GateInfo> KnownGates();

// Which gates are on. Thread-compatible.
class FeatureGates {
 public:
  // The defaults of release 1.`minor`.
  explicit FeatureGates(int minor);

  // Reads `A=true,B=false`, with AllAlpha and AllBeta as upstream. Error: an unknown gate, a locked one, a
  // value that is no boolean, or a gate that changes nothing here set to something else than its default.
  Status Set(std::string_view text);

  bool Enabled(std::string_view name) const;
  bool Enabled(std::uint16_t number) const { return on_[number]; }
  int minor() const { return minor_; }

  // "A=true", for each gate that was set, sorted.
  std::vector<std::string> Changed() const;

 private:
  Status SetOne(std::string_view name, bool value);
  void SetStage(GateStage stage, bool value);

  int minor_;
  std::vector<bool> on_;   // by number; 0 is unused
  std::vector<bool> set_;  // named in Set()
};

// The oldest release that can be emulated.
inline constexpr int kOldestEmulatedMinor = 34;

// Makes these the process's gates. Before anything is served; not thread-safe with readers.
void SetProcessGates(FeatureGates gates);
const FeatureGates& ProcessGates();

// Whether a gate of the process is on. Thread-safe.
inline bool GateEnabled(std::uint16_t number) {
  return ProcessGates().Enabled(number);
}
inline bool GateEnabled(std::string_view name) {
  return ProcessGates().Enabled(name);
}

}  // namespace flyball::api
