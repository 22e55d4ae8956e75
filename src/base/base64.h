// Base64 with the standard alphabet and padding, as JSON carries bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flyball {

std::string Base64Encode(std::string_view bytes);
// Nothing if text is no base64. Line ends are skipped, as Go does; padding is required, and what is left over
// in the last character is not looked at.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace flyball
