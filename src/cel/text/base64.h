// base64 as Go's encoding/base64 reads it. Functions only; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flyball::cel {

// URLEncoding with padding. `problem` gets Go's message ("illegal base64 data at input byte 0").
std::optional<std::string> DecodeBase64Url(std::string_view text, std::string* problem);
std::string EncodeBase64(std::string_view bytes);

}  // namespace flyball::cel
