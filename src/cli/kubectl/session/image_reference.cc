#include "cli/kubectl/session/image_reference.h"

#include <re2/re2.h>

#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

const RE2& ReferencePattern() {
  static const std::string kLabel = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
  static const std::string kHost = "(?:" + kLabel + "(?:\\." + kLabel + ")*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?";
  static const std::string kPart = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
  static const std::string kDigest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
  static const RE2 kPattern("(?:" + kHost + "/)?" + kPart + "(?:/" + kPart +
                            ")*(?::[0-9A-Za-z_][0-9A-Za-z_.-]{0,127})?(?:@" + kDigest + ")?");
  return kPattern;
}

}  // namespace

Status CheckImageName(const std::string& image) {
  if (RE2::FullMatch(re2::StringPiece(image.data(), image.size()), ReferencePattern())) return {};
  return Unexpected(LocalError("invalid image name \"" + image + "\": invalid reference format"));
}

}  // namespace flyball::cli
