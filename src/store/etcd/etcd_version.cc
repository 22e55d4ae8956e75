#include "store/etcd/etcd_version.h"

#include <array>
#include <charconv>
#include <string>

namespace flyball::store::etcd {

Status CheckVersion(std::string_view version) {
  std::array<int, 3> parts{};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int& part : parts) {
    const auto [after, error] = std::from_chars(at, end, part);
    if (error != std::errc())
      return Unexpected(BadRequest("etcd says that its version is \"" + std::string(version) + "\""));
    at = after == end ? end : after + 1;
  }
  constexpr std::array kOldest34 = {3, 4, 31}, kOldest35 = {3, 5, 13}, kNext34 = {3, 5, 0};
  const bool reliable = parts < kNext34 ? parts >= kOldest34 : parts >= kOldest35;
  if (reliable) return {};
  return Unexpected(BadRequest("etcd " + std::string(version) +
                               " is too old: 3.4.31, 3.5.13 or a later version is needed, whose progress "
                               "notifications do not overtake events"));
}

}  // namespace flyball::store::etcd
