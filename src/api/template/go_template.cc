#include "api/template/go_template.h"

#include <algorithm>

#include "api/template/template_functions.h"
#include "api/values/go_text.h"

namespace flyball::api {
namespace {

// kubectl decodes the object into an interface{}: every number is a float64.
void MakeFloats(json::Value& value) {
  if (value.is_int()) value = static_cast<double>(value.as_int());
  if (value.is_array())
    for (json::Value& item : value.as_array()) MakeFloats(item);
  if (value.is_object())
    for (auto& [key, member] : value.as_object()) MakeFloats(member);
}

// Whether every function that is called exists. Confined to one check.
class FunctionCheck {
 public:
  explicit FunctionCheck(const TemplateFunctions* more) : more_(more) {}

  Status Nodes(const std::vector<TemplateNode>& nodes) const {
    for (const TemplateNode& node : nodes) {
      if (const Status ok = Pipeline(node.pipeline); !ok)
        return Unexpected(
            BadRequest("template: output:" + std::to_string(node.line) + ": " + ok.error().message()));
      FLYBALL_TRY(Nodes(node.body));
      FLYBALL_TRY(Nodes(node.otherwise));
    }
    return {};
  }

 private:
  Status Pipeline(const TemplatePipeline& pipeline) const {
    for (const TemplateCommand& command : pipeline.commands)
      for (const TemplateOperand& operand : command) FLYBALL_TRY(Operand(operand));
    return {};
  }
  Status Operand(const TemplateOperand& operand) const {
    const bool function = operand.kind == TemplateOperand::Kind::kFunction;
    if (function && !HasTemplateFunction(operand.name) && !(more_ && more_->Has(operand.name)))
      return Unexpected(BadRequest("function \"" + operand.name + "\" not defined"));
    return operand.inner ? Pipeline(*operand.inner) : Status();
  }

  const TemplateFunctions* const more_;
};

// One execution. Confined to it.
class Execution {
 public:
  Execution(const TemplateTree& tree, const TemplateOptions& options) : tree_(tree), options_(options) {}

  Result<std::string> Run(const json::Value& root) {
    variables_.push_back({"$", root});
    FLYBALL_TRY(Walk(tree_.main, root));
    return std::move(out_);
  }

 private:
  // A template that calls itself, or writes without end, stops here.
  static constexpr int kMaxDepth = 200;
  static constexpr std::size_t kMaxOutput = std::size_t{64} << 20;
  enum class Flow : std::uint8_t { kOn, kBreak, kContinue };

  Status Fail(const TemplateNode& node, std::string_view at, const std::string& message) const {
    return Unexpected(BadRequest("template: output:" + std::to_string(node.line) + ":" +
                                 std::to_string(node.column) + ": executing \"output\" at <" +
                                 std::string(at) + ">: " + message));
  }

  Status Walk(const std::vector<TemplateNode>& nodes, const TemplateValue& dot) {
    if (++depth_ > kMaxDepth) return Unexpected(BadRequest("exceeded maximum template depth"));
    for (const TemplateNode& node : nodes) {
      FLYBALL_TRY(WalkNode(node, dot));
      if (flow_ != Flow::kOn) break;
    }
    --depth_;
    return {};
  }
  Status WalkNode(const TemplateNode& node, const TemplateValue& dot) {
    switch (node.kind) {
      case TemplateNode::Kind::kText:
        return Write(node.text);
      case TemplateNode::Kind::kAction: {
        FLYBALL_ASSIGN(const TemplateValue value, Evaluate(node, node.pipeline, dot));
        return node.pipeline.variables.empty() ? Write(TemplateText(value)) : Status();
      }
      case TemplateNode::Kind::kIf:
      case TemplateNode::Kind::kWith:
        return WalkChoice(node, dot);
      case TemplateNode::Kind::kRange:
        return WalkRange(node, dot);
      case TemplateNode::Kind::kCall:
        return WalkCall(node, dot);
      case TemplateNode::Kind::kBreak:
        flow_ = Flow::kBreak;
        return {};
      case TemplateNode::Kind::kContinue:
        flow_ = Flow::kContinue;
        return {};
    }
    return {};
  }
  Status Write(std::string_view text) {
    if (out_.size() + text.size() > kMaxOutput) return Unexpected(BadRequest("the output is too large"));
    out_ += text;
    return {};
  }
  Status WalkChoice(const TemplateNode& node, const TemplateValue& dot) {
    const std::size_t before = variables_.size();
    FLYBALL_ASSIGN(const TemplateValue value, Evaluate(node, node.pipeline, dot));
    const bool yes = IsTrue(value);
    const bool with = node.kind == TemplateNode::Kind::kWith && yes;
    FLYBALL_TRY(Walk(yes ? node.body : node.otherwise, with ? value : dot));
    variables_.resize(before);
    return {};
  }
  Status WalkRange(const TemplateNode& node, const TemplateValue& dot) {
    const std::size_t before = variables_.size();
    TemplatePipeline plain = node.pipeline;
    plain.variables.clear();
    FLYBALL_ASSIGN(const TemplateValue value, Evaluate(node, plain, dot));
    if (!value || value->is_null()) return Walk(node.otherwise, dot);
    if (value->is_array() || value->is_object()) {
      if (value->empty()) return Walk(node.otherwise, dot);
      return WalkItems(node, *value, before);
    }
    if (value->is_int()) return WalkCount(node, value->as_int(), before, dot);
    return Fail(node, node.pipeline.text, "range can't iterate over " + GoPrint(*value));
  }
  Status WalkItems(const TemplateNode& node, const json::Value& items, std::size_t before) {
    if (items.is_array()) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        FLYBALL_TRY(WalkItem(node, static_cast<long long>(i), items.as_array()[i], before));
        if (flow_ == Flow::kBreak) break;
      }
    } else {
      json::Object sorted = items.as_object();
      sorted.SortKeys();
      for (const auto& [key, member] : sorted) {
        FLYBALL_TRY(WalkItem(node, key, member, before));
        if (flow_ == Flow::kBreak) break;
      }
    }
    flow_ = Flow::kOn;
    return {};
  }
  Status WalkCount(const TemplateNode& node, std::int64_t count, std::size_t before,
                   const TemplateValue& dot) {
    if (count <= 0) return Walk(node.otherwise, dot);
    for (std::int64_t i = 0; i < count; ++i) {
      FLYBALL_TRY(WalkItem(node, static_cast<long long>(i), static_cast<long long>(i), before));
      if (flow_ == Flow::kBreak) break;
    }
    flow_ = Flow::kOn;
    return {};
  }
  Status WalkItem(const TemplateNode& node, json::Value key, const json::Value& item, std::size_t before) {
    const auto& names = node.pipeline.variables;
    if (names.size() == 2) Declare(node.pipeline, names[0], std::move(key));
    if (!names.empty()) Declare(node.pipeline, names.back(), item);
    FLYBALL_TRY(Walk(node.body, item));
    variables_.resize(before);
    if (flow_ == Flow::kContinue) flow_ = Flow::kOn;
    return {};
  }
  Status WalkCall(const TemplateNode& node, const TemplateValue& dot) {
    const auto found = tree_.defined.find(node.text);
    if (found == tree_.defined.end())
      return Fail(node, "{{template \"" + node.text + "\"}}", "template \"" + node.text + "\" not defined");
    TemplateValue argument;
    if (!node.pipeline.commands.empty()) {
      FLYBALL_ASSIGN(argument, Evaluate(node, node.pipeline, dot));
    }
    auto outer = std::exchange(variables_, {{"$", argument}});
    const Status status = Walk(found->second, argument);
    variables_ = std::move(outer);
    return status;
  }

  void Declare(const TemplatePipeline& pipeline, const std::string& name, TemplateValue value) {
    if (pipeline.assigns)
      if (TemplateValue* variable = FindVariable(name)) {
        *variable = std::move(value);
        return;
      }
    variables_.push_back({name, std::move(value)});
  }
  TemplateValue* FindVariable(const std::string& name) {
    const auto found = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const auto& variable) { return variable.first == name; });
    return found == variables_.rend() ? nullptr : &found->second;
  }

  Result<TemplateValue> Evaluate(const TemplateNode& node, const TemplatePipeline& pipeline,
                                 const TemplateValue& dot) {
    TemplateValue value;
    bool first = true;
    for (const TemplateCommand& command : pipeline.commands) {
      FLYBALL_ASSIGN(value, EvaluateCommand(node, command, dot, first ? nullptr : &value));
      first = false;
    }
    for (const std::string& name : pipeline.variables) Declare(pipeline, name, value);
    return value;
  }
  // `last` is the result of the command before, which becomes the last argument.
  Result<TemplateValue> EvaluateCommand(const TemplateNode& node, const TemplateCommand& command,
                                        const TemplateValue& dot, const TemplateValue* last) {
    const TemplateOperand& head = command[0];
    if (head.kind != TemplateOperand::Kind::kFunction) {
      if (command.size() > 1 || last)
        return Unexpected(Fail(node, head.text, "can't give argument to non-function " + head.text).error());
      return EvaluateOperand(node, head, dot);
    }
    std::vector<TemplateValue> args;
    for (std::size_t i = 1; i < command.size(); ++i) {
      FLYBALL_ASSIGN(TemplateValue arg, EvaluateOperand(node, command[i], dot));
      // Evaluated only as far as needed, as Go does.
      const bool decided = (head.name == "and" && !IsTrue(arg)) || (head.name == "or" && IsTrue(arg));
      args.push_back(std::move(arg));
      if (decided) return args.back();
    }
    if (last) args.push_back(*last);
    auto result = options_.functions && options_.functions->Has(head.name)
                      ? options_.functions->Call(head.name, args)
                      : CallTemplateFunction(head.name, args);
    if (!result)
      return Unexpected(
          Fail(node, CommandText(command), "error calling " + head.name + ": " + result.error().message())
              .error());
    return result;
  }
  static std::string CommandText(const TemplateCommand& command) {
    std::string text;
    for (const TemplateOperand& operand : command) text += (text.empty() ? "" : " ") + operand.text;
    return text;
  }
  Result<TemplateValue> EvaluateOperand(const TemplateNode& node, const TemplateOperand& operand,
                                        const TemplateValue& dot) {
    TemplateValue value;
    switch (operand.kind) {
      case TemplateOperand::Kind::kDot:
        value = dot;
        break;
      case TemplateOperand::Kind::kVariable: {
        const TemplateValue* variable = FindVariable(operand.name);
        if (!variable)
          return Unexpected(BadRequest("template: output:" + std::to_string(node.line) +
                                       ": undefined variable \"" + operand.name + "\""));
        value = *variable;
        break;
      }
      case TemplateOperand::Kind::kConstant:
        return TemplateValue(operand.constant);
      case TemplateOperand::Kind::kFunction: {
        FLYBALL_ASSIGN(value, EvaluateCommand(node, {operand}, dot, nullptr));
        return value;
      }
      case TemplateOperand::Kind::kParenthesis: {
        FLYBALL_ASSIGN(value, Evaluate(node, *operand.inner, dot));
        break;
      }
    }
    return Select(node, operand, std::move(value));
  }
  Result<TemplateValue> Select(const TemplateNode& node, const TemplateOperand& operand,
                               TemplateValue value) {
    for (const std::string& field : operand.fields) {
      if (!value) return value;  // the member of a missing member is missing
      if (value->is_null())
        return Unexpected(Fail(node, operand.text, "nil pointer evaluating interface {}." + field).error());
      if (!value->is_object())
        return Unexpected(
            Fail(node, operand.text, "can't evaluate field " + field + " in type interface {}").error());
      const json::Value* member = value->Find(field);
      if (!member && options_.strict)
        return Unexpected(Fail(node, operand.text, "map has no entry for key \"" + field + "\"").error());
      TemplateValue next = member ? TemplateValue(*member) : TemplateValue();
      value = std::move(next);
    }
    return value;
  }

  const TemplateTree& tree_;
  const TemplateOptions& options_;
  std::vector<std::pair<std::string, TemplateValue>> variables_;
  std::string out_;
  int depth_ = 0;
  Flow flow_ = Flow::kOn;
};

}  // namespace

Result<GoTemplate> GoTemplate::Parse(std::string_view text, const TemplateFunctions* functions) {
  FLYBALL_ASSIGN(TemplateTree tree, ParseTemplate(text));
  const FunctionCheck check(functions);
  FLYBALL_TRY(check.Nodes(tree.main));
  for (const auto& [name, nodes] : tree.defined) FLYBALL_TRY(check.Nodes(nodes));
  return GoTemplate(std::move(tree));
}

Result<std::string> GoTemplate::Render(const json::Value& root, const TemplateOptions& options) const {
  if (options.exact_numbers) return Execution(*tree_, options).Run(root);
  json::Value floats = root;
  MakeFloats(floats);
  return Execution(*tree_, options).Run(floats);
}

}  // namespace flyball::api
