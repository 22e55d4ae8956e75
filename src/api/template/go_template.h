// GoTemplate: Go's text/template on an object's JSON, as in `-o go-template`, with kubectl's functions
// `exists` and `base64decode`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/template/template_functions.h"
#include "api/template/template_syntax.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

struct TemplateOptions {
  // Members that are not there are an error; otherwise they print as <no value>.
  bool strict = false;
  // Numbers of the object are what they are; otherwise floats, as kubectl decodes them.
  bool exact_numbers = false;
  const TemplateFunctions* functions = nullptr;  // besides those that all templates have
};

// A value; immutable, so thread-safe.
class GoTemplate {
 public:
  // BadRequest says what is malformed, in Go's words. `functions` may be called besides those all have.
  static Result<GoTemplate> Parse(std::string_view text, const TemplateFunctions* functions = nullptr);
  // Requires functions that have what those of Parse had. The error says what cannot be evaluated, and where.
  Result<std::string> Render(const json::Value& root, const TemplateOptions& options = {}) const;

 private:
  explicit GoTemplate(TemplateTree tree) : tree_(std::make_shared<const TemplateTree>(std::move(tree))) {}
  std::shared_ptr<const TemplateTree> tree_;
};

}  // namespace flyball::api
