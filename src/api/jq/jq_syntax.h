// The syntax tree of jq_query.h's language, and its parser. Values; immutable once parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

struct JqNode;
using JqNodePtr = std::shared_ptr<const JqNode>;

struct JqNode {
  enum class Kind : std::uint8_t {
    kIdentity,  // .
    kDescend,   // ..
    kLiteral,   // value
    kIndex,     // children: what, key
    kSlice,     // children: what, from, to; the last two may be null
    kIterate,   // children: what
    kTry,       // children: what, handler (may be null)
    kPipe,      // children: left, right
    kComma,     // children: left, right
    kOperator,  // name: one of // or and == != < <= > >= + - * / %; children: left, right
    kNegate,    // children: what
    kArray,     // children: what (may be null)
    kObject,    // children: key, value, key, value...
    kVariable,  // name
    kBind,      // name; children: source, body
    kIf,        // children: condition, then, otherwise (may be null)
    kCall,      // name; children: arguments
  };
  Kind kind = Kind::kIdentity;
  std::string name;
  json::Value value;
  std::vector<JqNodePtr> children;
};

// BadRequest says what is malformed, and at which byte.
Result<JqNodePtr> ParseJq(std::string_view text);

}  // namespace flyball::api
