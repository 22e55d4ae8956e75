#include "base/observe/build_info.h"

#include <utility>

namespace flyball {
namespace {
BuildInfo& TheBuild() {
  static BuildInfo info;
  return info;
}
}  // namespace

const BuildInfo& Build() {
  return TheBuild();
}

void SetBuild(BuildInfo info) {
  TheBuild() = std::move(info);
}

}  // namespace flyball
