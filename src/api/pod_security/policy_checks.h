// The single checks, and what they share. For Evaluate and its tests.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod_security/pod_security.h"

namespace flyball::api::pod_security {

struct Pod {
  const json::Value& metadata;
  const json::Value& spec;
  int minor;

  // Containers, init containers and ephemeral ones.
  std::vector<const json::Value*> Containers() const;
  const json::Value& Security() const { return spec["securityContext"]; }
  // Since 1.25 what means nothing on Windows is not asked of its pods.
  bool IsWindows() const { return minor >= 25 && spec["os"]["name"].string_or("") == "windows"; }
};

using CheckResult = std::optional<Violation>;

struct Check {
  std::string_view id;
  int since;  // minor version it was introduced in
  CheckResult (*run)(const Pod& pod);
  std::string_view overrides = {};  // a baseline check it stands in for at the restricted level
};

// In upstream's order: by id.
std::span<const Check> BaselineChecks();
std::span<const Check> RestrictedChecks();

// `"a", "b"`.
std::string JoinQuoted(const std::vector<std::string>& names);
std::string JoinQuoted(const std::set<std::string>& names);
// `container "a"`, `containers "a", "b"`.
std::string NamedContainers(const std::vector<std::string>& names);
std::string JoinText(const std::vector<std::string>& parts, std::string_view between);
std::string ContainerName(const json::Value& container);

// Who set a bad value: "pod", `container "a"`, and which values. For fields both may set.
struct BadSetters {
  bool pod = false;
  std::vector<std::string> containers;
  std::set<std::string> values;

  bool any() const { return pod || !containers.empty(); }
  std::string ToString() const;  // `pod and container "a"`
};
// `is_bad` gets a securityContext and gives the bad value in it, if any.
BadSetters FindBadSetters(const Pod& pod,
                          const std::function<std::optional<std::string>(const json::Value&)>& is_bad);

}  // namespace flyball::api::pod_security
