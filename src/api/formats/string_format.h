// The string formats of OpenAPI that upstream checks in custom resources (kube-openapi strfmt).
#pragma once

#include <string_view>

namespace flyball::api {

// False if `value` is not of that format. Formats that are unknown or not evaluated accept everything.
bool MatchesStringFormat(std::string_view format, std::string_view value);

// True if values of the type are checked for the format; others are ignored, and their definition warned of.
bool IsSupportedFormat(std::string_view type, std::string_view format);

}  // namespace flyball::api
