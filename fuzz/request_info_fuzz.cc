// Paths and queries: any target is understood or refused; what is authorised has no escapes left in it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/request/request_info.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flyball::server;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"};
  const std::string target = "/" + std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto info = ParseRequestInfo(kMethods[data[0] % 7], target);
  if (!info) return 0;
  // Names are single parts of a path: a slash in one would be a part that was not looked at.
  if (info->is_resource &&
      (info->resource.find('/') != std::string::npos || info->namespace_name.find('/') != std::string::npos))
    std::abort();
  if (info->is_resource && info->verb.empty()) std::abort();
  const auto again = ParseRequestInfo(kMethods[data[0] % 7], target);
  if (!again || again->verb != info->verb || again->name != info->name) std::abort();
  (void)info->query.Bool("watch");
  return 0;
}
