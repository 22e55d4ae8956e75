// The syntax tree of Go's text/template, as far as data of JSON can use it, and its parser. Values; immutable
// once parsed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

struct TemplatePipeline;

// One word of a command: `.a.b`, `$x.y`, `"text"`, `12`, `printf`, `(len .x).y`.
struct TemplateOperand {
  enum class Kind : std::uint8_t { kDot, kVariable, kConstant, kFunction, kParenthesis };
  Kind kind = Kind::kDot;
  std::string name;                 // of a variable (with its $) or a function
  json::Value constant;             // of kConstant; null is nil
  std::vector<std::string> fields;  // what is selected from it
  std::shared_ptr<const TemplatePipeline> inner;
  std::string text;  // as written, for errors
};

using TemplateCommand = std::vector<TemplateOperand>;

struct TemplatePipeline {
  std::vector<std::string> variables;  // declared or assigned by it
  bool assigns = false;                // `=` instead of `:=`
  std::vector<TemplateCommand> commands;
  std::string text;
};

struct TemplateNode {
  enum class Kind : std::uint8_t { kText, kAction, kIf, kRange, kWith, kCall, kBreak, kContinue };
  Kind kind = Kind::kText;
  std::string text;  // of kText; the name of what kCall calls
  TemplatePipeline pipeline;
  std::vector<TemplateNode> body, otherwise;
  int line = 1, column = 0;  // where it begins, for errors
};

struct TemplateTree {
  std::vector<TemplateNode> main;
  std::map<std::string, std::vector<TemplateNode>, std::less<>> defined;  // by {{define}} and {{block}}
};

// BadRequest says what is malformed, and in which line, as Go does: `template: output:1: ...`.
Result<TemplateTree> ParseTemplate(std::string_view text);

}  // namespace flyball::api
