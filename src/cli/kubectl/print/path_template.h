// PathTemplate: the templates of `-o jsonpath`: text, {.paths}, {"quoted text"}, {range .path}...{end}.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/select/json_path.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli {

// A value; immutable.
class PathTemplate {
 public:
  static Result<PathTemplate> Parse(std::string_view text);
  // Missing values print nothing; several results of one path are separated by spaces.
  std::string Render(const json::Value& root) const;
  // The same, but BadRequest ("x is not found") for a field that no value has.
  Result<std::string> RenderStrictly(const json::Value& root) const;

 private:
  struct Part {
    std::string text;  // printed unchanged
    api::JsonPath path;
    bool is_path = false, is_range = false;
    std::vector<Part> body;  // of a range
  };
  static Result<std::vector<Part>> ParseParts(std::string_view& text, bool in_range);
  static Status ParseAction(std::string_view action, std::string_view& rest, std::vector<Part>* parts);
  static Status RenderParts(const std::vector<Part>& parts, const json::Value& at, bool strict,
                            std::string& out);

  std::vector<Part> parts_;
};

// Formats a value as jsonpath prints it: strings unchanged, everything else as JSON.
std::string PathText(const json::Value& value);

}  // namespace flyball::cli
