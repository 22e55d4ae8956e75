// Base64 with the standard alphabet and padding, with the errors of Go's decoder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flyball::api {

// False at the first illegal byte, whose position (as Go counts it) is then in `bad`. Line ends are skipped.
bool DecodeBase64(std::string_view text, std::string& bytes, std::size_t& bad);
std::string EncodeBase64(std::string_view bytes);
// True if encoding what `text` decodes to gives `text` again.
bool IsCanonicalBase64(std::string_view text);

}  // namespace flyball::api
