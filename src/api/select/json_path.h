// JsonPath: the JSONPath dialect of printer columns and `kubectl -o jsonpath` (upstream: client-go
// util/jsonpath), without templates: .a.b, ['a.b'], .a\.b, [0], [-1], [1:3], [*], .*, ..a, [0,2], ['a','b'],
// [?(@.type=="Ready")] with == != < > <= >= or plain existence. A value; immutable, so thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

class JsonPath {
 public:
  // Results beyond this are dropped: a path like `..*..*` grows without bound on a small object.
  static constexpr std::size_t kMaxResults = 10000;

  // The empty path: the root itself.
  JsonPath() = default;
  // `{.spec.x}`, `$.spec.x`, `.spec.x` and `spec.x` are the same path. BadRequest says what is malformed.
  static Result<JsonPath> Parse(std::string_view text);

  // What the path leads to, in document order; pointers into `root`. What is missing, or compared with
  // something of another type, is left out.
  std::vector<const json::Value*> Evaluate(const json::Value& root) const;
  // The first name on the path that is in none of the values it was looked for in; nothing if each was found.
  std::optional<std::string> MissingField(const json::Value& root) const;
  // The first of them, or null.
  const json::Value* First(const json::Value& root) const;

  struct Step;

 private:
  std::vector<std::shared_ptr<const Step>> steps_;
};

}  // namespace flyball::api
