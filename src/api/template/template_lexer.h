// Cuts the inside of {{...}} into words. Confined to one parse.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

struct TemplateToken {
  // kDot is a lone dot; kField is ".name"; kMark is one of ( ) | , = and ":=".
  enum class Kind : std::uint8_t { kWord, kVariable, kField, kDot, kConstant, kMark, kSpace };
  Kind kind = Kind::kSpace;
  std::string text;
  json::Value constant;
};

// The error is the end of Go's message: "unterminated quoted string".
Result<std::vector<TemplateToken>> LexAction(std::string_view action);

}  // namespace flyball::api
