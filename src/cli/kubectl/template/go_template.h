// GoTemplate: the templates of `-o go-template`: Go's text/template on an object's JSON, with kubectl's
// functions `exists` and `base64decode`. Numbers of the object are floats, as kubectl decodes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "cli/kubectl/template/template_syntax.h"
#include "json/value.h"

namespace flyball::cli {

// A value; immutable, so thread-safe.
class GoTemplate {
 public:
  // What is malformed, in Go's words.
  static Result<GoTemplate> Parse(std::string_view text);
  // Members that are not there print as <no value>, or are an error if `strict`. The error says what cannot
  // be evaluated, and where.
  Result<std::string> Render(const json::Value& root, bool strict = false) const;

 private:
  explicit GoTemplate(TemplateTree tree) : tree_(std::make_shared<const TemplateTree>(std::move(tree))) {}
  std::shared_ptr<const TemplateTree> tree_;
};

}  // namespace flyball::cli
