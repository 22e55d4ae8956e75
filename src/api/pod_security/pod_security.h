// The Pod Security Standards: which pods the levels baseline and restricted allow, as versions of Kubernetes
// defined them (upstream: pod-security-admission/policy). Pure functions of objects.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace flyball::api::pod_security {

enum class Level : std::uint8_t { kPrivileged, kBaseline, kRestricted };
std::string_view LevelName(Level level);
std::optional<Level> ParseLevel(std::string_view text);

// The newest definition there is; a policy of a later version is judged by it.
inline constexpr int kLatestMinor = 34;

// A level as of a version: "restricted:latest", "baseline:v1.24".
struct Policy {
  Level level = Level::kPrivileged;
  std::optional<int> minor;  // of Kubernetes 1.x; none: latest

  std::string ToString() const;
  bool operator==(const Policy&) const = default;
};
// "latest" or "v1.N": false if it is neither.
bool ParseVersion(std::string_view text, std::optional<int>& minor);

struct Violation {
  std::string reason, detail;
};

// What is wrong with a pod (or a pod template), in upstream's order. `metadata` and `spec` are the pod's.
std::vector<Violation> Evaluate(const Policy& policy, const json::Value& metadata, const json::Value& spec);

// "privileged (container ...), host namespaces (hostPID=true)".
std::string Details(const std::vector<Violation>& violations);
// "privileged, host namespaces".
std::string Reasons(const std::vector<Violation>& violations);

}  // namespace flyball::api::pod_security
