#include "api/template/template_syntax.h"

#include "api/template/template_lexer.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

// As Go's parser; deeper templates would use up the stack.
constexpr int kMaxTemplateDepth = 200;

// Reads the tokens of one action.
class ActionParser {
 public:
  explicit ActionParser(const std::vector<TemplateToken>& tokens) : tokens_(tokens) { SkipSpace(); }

  bool AtEnd() const { return at_ == tokens_.size(); }
  const TemplateToken* Peek() const { return AtEnd() ? nullptr : &tokens_[at_]; }
  bool TakeWord(std::string_view word) {
    if (AtEnd() || tokens_[at_].kind != TemplateToken::Kind::kWord || tokens_[at_].text != word) return false;
    ++at_;
    SkipSpace();
    return true;
  }
  Result<std::string> TakeString(std::string_view context) {
    if (AtEnd() || !tokens_[at_].constant.is_string())
      return Unexpected(BadRequest("unexpected token in " + std::string(context)));
    std::string text(tokens_[at_++].constant.as_string());
    SkipSpace();
    return text;
  }
  // Up to the end or a closing parenthesis.
  Result<TemplatePipeline> Pipeline(std::string_view context, bool in_range = false, int depth = 0) {
    if (depth > kMaxTemplateDepth) return Unexpected(BadRequest("max expression depth exceeded"));
    const std::size_t begin = at_;
    TemplatePipeline pipeline;
    TakeDeclaration(pipeline, in_range);
    for (;;) {
      FLYBALL_ASSIGN(TemplateCommand command, TakeCommand(depth));
      if (command.empty()) return Unexpected(BadRequest("missing value for " + std::string(context)));
      pipeline.commands.push_back(std::move(command));
      if (!TakeMark("|")) break;
    }
    for (std::size_t i = begin; i < at_; ++i)
      pipeline.text +=
          tokens_[i].kind == TemplateToken::Kind::kField ? "." + tokens_[i].text : tokens_[i].text;
    pipeline.text = std::string(Trimmed(pipeline.text));
    return pipeline;
  }

 private:
  void SkipSpace() {
    while (!AtEnd() && tokens_[at_].kind == TemplateToken::Kind::kSpace) ++at_;
  }
  bool TakeMark(std::string_view mark) {
    if (AtEnd() || tokens_[at_].kind != TemplateToken::Kind::kMark || tokens_[at_].text != mark) return false;
    ++at_;
    SkipSpace();
    return true;
  }
  // `$x :=`, `$x =`, and in a range `$i, $x :=`. Leaves the place as it was if there is none.
  void TakeDeclaration(TemplatePipeline& pipeline, bool in_range) {
    const std::size_t begin = at_;
    std::vector<std::string> names;
    while (!AtEnd() && tokens_[at_].kind == TemplateToken::Kind::kVariable) {
      names.push_back(tokens_[at_++].text);
      SkipSpace();
      if (!in_range || names.size() == 2 || !TakeMark(",")) break;
    }
    if (!names.empty() && (TakeMark(":=") || (pipeline.assigns = TakeMark("=")))) {
      pipeline.variables = std::move(names);
      return;
    }
    at_ = begin;
  }
  Result<TemplateCommand> TakeCommand(int depth) {
    TemplateCommand command;
    while (!AtEnd() && !(tokens_[at_].kind == TemplateToken::Kind::kMark && tokens_[at_].text != "(")) {
      FLYBALL_ASSIGN(TemplateOperand operand, TakeOperand(depth));
      command.push_back(std::move(operand));
      SkipSpace();
    }
    return command;
  }
  Result<TemplateOperand> TakeOperand(int depth) {
    TemplateOperand operand;
    const TemplateToken& token = tokens_[at_++];
    operand.text = token.text;
    switch (token.kind) {
      case TemplateToken::Kind::kDot:
        break;
      case TemplateToken::Kind::kField:
        operand.fields.push_back(token.text);
        operand.text = "." + token.text;
        break;
      case TemplateToken::Kind::kVariable:
        operand.kind = TemplateOperand::Kind::kVariable;
        operand.name = token.text;
        break;
      case TemplateToken::Kind::kConstant:
        operand.kind = TemplateOperand::Kind::kConstant;
        operand.constant = token.constant;
        return operand;
      case TemplateToken::Kind::kWord:
        operand.kind = TemplateOperand::Kind::kFunction;
        operand.name = token.text;
        return operand;
      default: {
        SkipSpace();
        FLYBALL_ASSIGN(TemplatePipeline inner, Pipeline("parenthesized pipeline", false, depth + 1));
        if (!TakeMarkHere(")")) return Unexpected(BadRequest("unclosed left paren"));
        operand.kind = TemplateOperand::Kind::kParenthesis;
        operand.text = "(" + inner.text + ")";
        operand.inner = std::make_shared<const TemplatePipeline>(std::move(inner));
      }
    }
    while (!AtEnd() && tokens_[at_].kind == TemplateToken::Kind::kField) {
      operand.text += "." + tokens_[at_].text;
      operand.fields.push_back(tokens_[at_++].text);
    }
    return operand;
  }
  // Without the space behind it: a field may follow at once.
  bool TakeMarkHere(std::string_view mark) {
    if (AtEnd() || tokens_[at_].text != mark) return false;
    ++at_;
    return true;
  }

  const std::vector<TemplateToken>& tokens_;
  std::size_t at_ = 0;
};

// How a list of nodes ended.
enum class Ending : std::uint8_t { kText, kEnd, kElse };

class TemplateParser {
 public:
  explicit TemplateParser(std::string_view text) : all_(text), rest_(text) {}

  Result<TemplateTree> Parse() {
    auto ending = Nodes(tree_.main, 0);
    if (!ending) return Unexpected(BadRequest(Where() + ending.error().message()));
    if (*ending != Ending::kText)
      return Unexpected(
          BadRequest(Where() + "unexpected {{" + (*ending == Ending::kEnd ? "end" : "else") + "}}"));
    return std::move(tree_);
  }

 private:
  int Line() const {
    int line = 1;
    for (const char c : all_.substr(0, all_.size() - rest_.size())) line += c == '\n' ? 1 : 0;
    return line;
  }
  std::string Where() const { return "template: output:" + std::to_string(Line()) + ": "; }

  Result<Ending> Nodes(std::vector<TemplateNode>& out, int depth) {
    if (depth > kMaxTemplateDepth) return Unexpected(BadRequest("template is nested too deeply"));
    for (;;) {
      const std::size_t open = rest_.find("{{");
      std::string_view text = rest_.substr(0, open);
      const bool trims = open != std::string_view::npos && open + 3 < rest_.size() &&
                         rest_[open + 2] == '-' &&
                         kWhiteSpace.find(rest_[open + 3]) != std::string_view::npos;
      if (std::exchange(trim_next_, false))
        text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
      if (trims) text = text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
      if (!text.empty()) out.push_back(Text(text));
      if (open == std::string_view::npos) {
        rest_ = {};
        return depth == 0 ? Result<Ending>(Ending::kText) : Unexpected(BadRequest("unexpected EOF"));
      }
      rest_.remove_prefix(open + (trims ? 3 : 2));
      FLYBALL_ASSIGN(const std::string_view action, TakeAction());
      if (action.starts_with("/*")) continue;
      FLYBALL_ASSIGN(const bool ended, Action(action, out, depth));
      if (ended) return ending_;
    }
  }
  static TemplateNode Text(std::string_view text) {
    TemplateNode node;
    node.text = text;
    return node;
  }
  // Up to the closing braces, which quoted text may contain.
  Result<std::string_view> TakeAction() {
    char quote = 0;
    const bool comment = Trimmed(rest_).starts_with("/*");
    for (std::size_t i = 0; i + 1 < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0 && c == '\\' && quote != '`') {
        ++i;
      } else if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (!comment && (c == '"' || c == '`' || c == '\'')) {
        quote = c;
      } else if (c == '}' && rest_[i + 1] == '}') {
        std::string_view action = rest_.substr(0, i);
        trim_next_ = action.size() > 1 && action.back() == '-' &&
                     kWhiteSpace.find(action[action.size() - 2]) != std::string_view::npos;
        if (trim_next_) action.remove_suffix(1);
        rest_.remove_prefix(i + 2);
        return Trimmed(action);
      }
    }
    return Unexpected(BadRequest(comment ? "unclosed comment" : "unclosed action"));
  }
  // True if it ends the list it stands in; `ending_` says how.
  Result<bool> Action(std::string_view action, std::vector<TemplateNode>& out, int depth) {
    FLYBALL_ASSIGN(const auto tokens, LexAction(action));
    ActionParser parser(tokens);
    TemplateNode node;
    node.line = Line();
    const std::size_t here =
        all_.size() - rest_.size() - std::min(all_.size() - rest_.size(), action.size() + 2);
    node.column = static_cast<int>(here - (all_.substr(0, here).rfind('\n') + 1));
    if (parser.TakeWord("end")) return End(Ending::kEnd, {});
    if (parser.TakeWord("else")) return End(Ending::kElse, action);
    if (parser.TakeWord("if"))
      return Control(TemplateNode::Kind::kIf, "if", parser, std::move(node), out, depth);
    if (parser.TakeWord("with"))
      return Control(TemplateNode::Kind::kWith, "with", parser, std::move(node), out, depth);
    if (parser.TakeWord("range"))
      return Control(TemplateNode::Kind::kRange, "range", parser, std::move(node), out, depth);
    if (parser.TakeWord("define") || parser.TakeWord("block")) return Define(action, parser, out, depth);
    if (parser.TakeWord("template")) return Call(parser, std::move(node), out);
    if (action == "break" || action == "continue") {
      node.kind = action == "break" ? TemplateNode::Kind::kBreak : TemplateNode::Kind::kContinue;
    } else {
      node.kind = TemplateNode::Kind::kAction;
      FLYBALL_ASSIGN(node.pipeline, parser.Pipeline("command"));
      if (!parser.AtEnd())
        return Unexpected(BadRequest("unexpected \"" + parser.Peek()->text + "\" in command"));
    }
    out.push_back(std::move(node));
    return false;
  }
  bool End(Ending ending, std::string_view action) {
    ending_ = ending;
    else_action_ = Trimmed(action.substr(std::min<std::size_t>(4, action.size())));
    return true;
  }
  Result<bool> Control(TemplateNode::Kind kind, std::string_view word, ActionParser& parser,
                       TemplateNode node, std::vector<TemplateNode>& out, int depth) {
    node.kind = kind;
    FLYBALL_ASSIGN(node.pipeline, parser.Pipeline(word, kind == TemplateNode::Kind::kRange));
    FLYBALL_ASSIGN(const Ending ending, Nodes(node.body, depth + 1));
    if (ending == Ending::kElse) FLYBALL_TRY(Otherwise(node, depth));
    out.push_back(std::move(node));
    return false;
  }
  // {{else}}, or {{else if ...}}, which is an if of its own that shares the {{end}}.
  Status Otherwise(TemplateNode& node, int depth) {
    const std::string chained(else_action_);
    if (chained.empty()) {
      FLYBALL_ASSIGN(const Ending ending, Nodes(node.otherwise, depth + 1));
      if (ending == Ending::kElse) return Unexpected(BadRequest("expected end; found {{else}}"));
      return {};
    }
    if (depth > kMaxTemplateDepth) return Unexpected(BadRequest("template is nested too deeply"));
    FLYBALL_TRY(Action(chained, node.otherwise, depth + 1));
    return {};
  }
  Result<bool> Define(std::string_view action, ActionParser& parser, std::vector<TemplateNode>& out,
                      int depth) {
    const bool block = action.starts_with("block");
    FLYBALL_ASSIGN(const std::string name, parser.TakeString(block ? "block clause" : "define clause"));
    TemplateNode call;
    if (block) {
      call.kind = TemplateNode::Kind::kCall;
      call.text = name;
      FLYBALL_ASSIGN(call.pipeline, parser.Pipeline("block clause"));
    }
    std::vector<TemplateNode> body;
    FLYBALL_TRY(Nodes(body, depth + 1));
    tree_.defined[name] = std::move(body);
    if (block) out.push_back(std::move(call));
    return false;
  }
  Result<bool> Call(ActionParser& parser, TemplateNode node, std::vector<TemplateNode>& out) {
    node.kind = TemplateNode::Kind::kCall;
    FLYBALL_ASSIGN(node.text, parser.TakeString("template clause"));
    if (!parser.AtEnd()) {
      FLYBALL_ASSIGN(node.pipeline, parser.Pipeline("template clause"));
    }
    out.push_back(std::move(node));
    return false;
  }

  const std::string_view all_;
  std::string_view rest_;
  bool trim_next_ = false;
  Ending ending_ = Ending::kText;
  std::string else_action_;
  TemplateTree tree_;
};

}  // namespace

Result<TemplateTree> ParseTemplate(std::string_view text) {
  return TemplateParser(text).Parse();
}

}  // namespace flyball::api
