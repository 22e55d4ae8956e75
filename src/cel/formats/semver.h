// Semver: a semantic version (semver.org), as Kubernetes' CEL library reads them. A value; thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flyball::cel {

struct Semver {
  struct Identifier {
    std::string text;
    std::uint64_t number = 0;
    bool is_number = false;
  };
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::vector<Identifier> prerelease;
  std::vector<std::string> build;

  // -1, 0, 1. Build data does not count.
  int Compare(const Semver& other) const;
  std::string ToString() const;
};

// `normalize` also takes "v1", "1.02" and such. `problem` gets upstream's message.
std::optional<Semver> ParseSemver(std::string_view text, bool normalize, std::string* problem);

}  // namespace flyball::cel
