// What this program was built from. The program's main says it once; libraries and tests know no commit.
#pragma once

#include <string>

namespace flyball {

inline constexpr const char* kFlyballVersion = "v0.1.0";

struct BuildInfo {
  std::string version = kFlyballVersion;
  std::string commit = "";      // of the source, in full; empty: not known
  std::string tree_state = "";  // "clean", or "dirty" if files differed from the commit
  std::string date = "";        // of the commit, in RFC 3339
  std::string type =
      "unknown";  // "Debug", "RelWithDebInfo", with what else matters: "Debug, address sanitizer"
  std::string compiler = __VERSION__;
};

// Thread-safe once SetBuild has been called, or if it never is.
const BuildInfo& Build();
// For main, before it does anything else.
void SetBuild(BuildInfo info);

}  // namespace flyball
