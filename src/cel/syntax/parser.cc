#include "cel/syntax/parser.h"

#include <algorithm>
#include <string>

#include "cel/schema/schema.h"
#include "cel/syntax/lexer.h"
#include "cel/syntax/literal.h"
#include "cel/syntax/macros.h"
#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

constexpr std::string_view kExpressionTokens =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";
// How many tokens upstream's parser skips after an error before it gives up.
constexpr std::size_t kMaxSkippedTokens = 256;

// Ends the parse; the issue is reported already.
struct ParseStopped {};

struct OperatorName {
  std::string_view text, function;
};
constexpr OperatorName kRelations[] = {{"<", "_<_"}, {"<=", "_<=_"}, {">=", "_>=_"},
                                       {">", "_>_"}, {"==", "_==_"}, {"!=", "_!=_"}};
constexpr OperatorName kSums[] = {{"+", "_+_"}, {"-", "_-_"}};
constexpr OperatorName kProducts[] = {{"*", "_*_"}, {"/", "_/_"}, {"%", "_%_"}};

class Parser {
 public:
  Parser(std::string_view text, const ParserOptions& options, std::vector<Issue>& issues)
      : options_(options), issues_(issues), tokens_(Tokenize(text, issues)), ast_(std::make_unique<Ast>()) {}

  std::unique_ptr<Ast> Run() {
    try {
      ast_->root = Expression();
      if (Peek().kind != TokenKind::kEnd) Unexpected("<EOF>");
    } catch (const ParseStopped&) {
    }
    return issues_.empty() ? std::move(ast_) : nullptr;
  }

 private:
  const Token& Peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Next() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool Accept(std::string_view op) {
    if (!Peek().Is(op)) return false;
    Next();
    return true;
  }
  [[noreturn]] void Unexpected(std::string_view expected) {
    const Token& token = Peek();
    // Upstream reports the end of nothing one column early.
    const bool blank = token.kind == TokenKind::kEnd && token.offset == 0;
    issues_.push_back({token.offset,
                       "Syntax error: mismatched input '" + std::string(token.text) + "' expecting " +
                           std::string(expected),
                       blank ? -1 : 0});
    if (tokens_.size() - at_ > kMaxSkippedTokens + 1)
      issues_.push_back({Issue::kNowhere, "error recovery token lookahead limit exceeded: 256", 0});
    throw ParseStopped();
  }
  [[noreturn]] void NoViable(std::string_view before) {
    const Token& token = Peek();
    const std::string shown = token.kind == TokenKind::kEnd ? "" : std::string(token.text);
    std::string message =
        "Syntax error: no viable alternative at input '" + std::string(before) + shown + "'";
    if (token.kind == TokenKind::kTrue || token.kind == TokenKind::kFalse || token.kind == TokenKind::kNull)
      message = "Syntax error: mismatched input '" + shown + "' expecting IDENTIFIER";
    issues_.push_back({token.offset, std::move(message), 0});
    throw ParseStopped();
  }
  [[noreturn]] void StopNowhere(std::string message) {
    issues_.push_back({Issue::kNowhere, std::move(message), 0});
    throw ParseStopped();
  }
  void Expect(std::string_view op) {
    if (!Accept(op)) Unexpected("'" + std::string(op) + "'");
  }

  Expr* New(ExprKind kind, const Token& token) { return ast_->New(kind, token.offset); }
  // Upstream visits the tree recursively and counts only some of its nodes.
  Expr* Counted(Expr* expr, std::initializer_list<const Expr*> children) { return Depth(expr, children, 1); }
  Expr* Depth(Expr* expr, std::initializer_list<const Expr*> children, int own) {
    int deepest = 0;
    for (const Expr* child : children) deepest = std::max<int>(deepest, child->visit_depth);
    for (const Expr* arg : expr->args) deepest = std::max<int>(deepest, arg->visit_depth);
    if (deepest + own > kMaxParseDepth) StopNowhere("max recursion depth exceeded");
    expr->visit_depth = static_cast<std::uint16_t>(deepest + own);
    return expr;
  }
  Expr* Call(std::string_view function, const Token& at, std::vector<Expr*> args) {
    Expr* call = New(ExprKind::kCall, at);
    call->name = function;
    call->args = std::move(args);
    return call;
  }

  Expr* Expression() {
    if (++depth_ > kMaxParseDepth)
      StopNowhere("expression recursion limit exceeded: " + std::to_string(kMaxParseDepth));
    Expr* result = Or();
    if (Peek().Is("?")) {
      const Token& op = Next();
      Expr* then = Or();
      Expect(":");
      Expr* otherwise = Expression();
      result = Counted(Call("_?_:_", op, {result, then, otherwise}), {});
    }
    --depth_;
    return result;
  }
  Expr* Or() {
    return Logical("||", "_||_", [this] { return And(); });
  }
  Expr* And() {
    return Logical("&&", "_&&_", [this] { return Relation(); });
  }
  template <typename Operand>
  Expr* Logical(std::string_view op, std::string_view function, Operand operand) {
    std::vector<Expr*> terms = {operand()};
    std::vector<const Token*> ops;
    while (Peek().Is(op)) {
      ops.push_back(&Next());
      terms.push_back(operand());
    }
    return ops.empty() ? terms[0] : Balanced(function, terms, ops, 0, ops.size() - 1);
  }
  // A chain of && or || becomes a tree of little depth.
  Expr* Balanced(std::string_view function, const std::vector<Expr*>& terms,
                 const std::vector<const Token*>& ops, std::size_t lo, std::size_t hi) {
    const std::size_t mid = (lo + hi + 1) / 2;
    Expr* left = mid == lo ? terms[mid] : Balanced(function, terms, ops, lo, mid - 1);
    Expr* right = mid == hi ? terms[mid + 1] : Balanced(function, terms, ops, mid + 1, hi);
    return Depth(Call(function, *ops[mid], {left, right}), {}, 0);
  }
  template <std::size_t N>
  std::string_view Operator(const OperatorName (&names)[N]) const {
    if (Peek().kind == TokenKind::kOperator)
      for (const OperatorName& name : names)
        if (Peek().text == name.text) return name.function;
    return {};
  }
  Expr* Relation() {
    Expr* left = Sum();
    while (true) {
      const std::string_view function = Peek().kind == TokenKind::kIn ? "@in" : Operator(kRelations);
      if (function.empty()) return left;
      const Token& op = Next();
      left = Counted(Call(function, op, {left, Sum()}), {});
    }
  }
  Expr* Sum() {
    Expr* left = Product();
    while (true) {
      const std::string_view function = Operator(kSums);
      if (function.empty()) return left;
      const Token& op = Next();
      left = Counted(Call(function, op, {left, Product()}), {});
    }
  }
  Expr* Product() {
    Expr* left = Unary();
    while (true) {
      const std::string_view function = Operator(kProducts);
      if (function.empty()) return left;
      const Token& op = Next();
      left = Counted(Call(function, op, {left, Unary()}), {});
    }
  }
  static bool IsNumber(const Token& token) {
    return token.kind == TokenKind::kInt || token.kind == TokenKind::kFloat;
  }
  Expr* Unary() {
    const Token& first = Peek();
    // A minus before a number is part of it.
    if (!first.Is("!") && !(first.Is("-") && !IsNumber(Peek(1)))) return Member();
    const std::string_view op = first.text;
    std::size_t count = 0;
    while (Accept(op)) ++count;
    if (op == "-" && Peek().kind == TokenKind::kEnd) NoViable("-");
    Expr* operand = Member();
    if (count % 2 == 0) return operand;
    return Depth(Call(op == "!" ? "!_" : "-_", first, {operand}), {}, 0);
  }
  Expr* Member() {
    Expr* expr = Primary();
    while (true) {
      if (Peek().Is(".")) {
        expr = Select(expr);
      } else if (Peek().Is("[")) {
        const Token& op = Next();
        const bool optional = options_.optional_syntax && Accept("?");
        Expr* index = Expression();
        Expect("]");
        expr = Counted(Call(optional ? "_[?_]" : "_[_]", op, {expr, index}), {});
      } else {
        return expr;
      }
    }
  }
  Expr* Select(Expr* operand) {
    const Token& dot = Next();
    const bool optional = options_.optional_syntax && Accept("?");
    const Token& field = Peek();
    if (field.kind != TokenKind::kIdentifier && field.kind != TokenKind::kEscapedIdentifier) {
      if (optional) Unexpected("{IDENTIFIER, ESC_IDENTIFIER}");
      NoViable(".");
    }
    Next();
    if (field.kind == TokenKind::kIdentifier && !optional && Peek().Is("("))
      return MemberCall(operand, field);
    const bool escaped = field.kind == TokenKind::kEscapedIdentifier;
    const std::string_view name =
        ast_->Keep(escaped ? field.text.substr(1, field.text.size() - 2) : field.text);
    if (optional) {
      Expr* literal = New(ExprKind::kLiteral, field);
      literal->literal = Value::String(name);
      return Counted(Call("_?._", dot, {operand, literal}), {});
    }
    Expr* select = New(ExprKind::kSelect, dot);
    select->operand = operand;
    select->name = name;
    return Counted(select, {operand});
  }
  Expr* MemberCall(Expr* target, const Token& name) {
    const Token& open = Next();
    std::vector<Expr*> args = Arguments();
    const std::string_view function = ast_->Keep(name.text);
    const int depth = DeepestOf(args, target);
    Expr* result = ExpandMacro(*ast_, options_, open.offset, function, target, args, issues_);
    if (!result) {
      result = Call(function, open, std::move(args));
      result->is_member = true;
      result->operand = target;
    }
    if (depth + 1 > kMaxParseDepth) StopNowhere("max recursion depth exceeded");
    result->visit_depth = static_cast<std::uint16_t>(depth + 1);
    return result;
  }
  static int DeepestOf(const std::vector<Expr*>& args, const Expr* target) {
    int deepest = target ? target->visit_depth : 0;
    for (const Expr* arg : args) deepest = std::max<int>(deepest, arg->visit_depth);
    return deepest;
  }
  // What stands between parentheses, which are taken too.
  std::vector<Expr*> Arguments() {
    std::vector<Expr*> args;
    if (Accept(")")) return args;
    do {
      args.push_back(Expression());
    } while (Accept(","));
    Expect(")");
    return args;
  }
  Expr* Primary() {
    const Token& token = Peek();
    if (token.Is("(")) {
      Next();
      Expr* expr = Expression();
      Expect(")");
      return expr;
    }
    if (token.Is("[")) return ListLiteral();
    if (token.Is("{")) return MapLiteral();
    if (token.Is("-") && IsNumber(Peek(1))) return NumberLiteral();
    if (token.kind == TokenKind::kIdentifier || token.Is(".")) return Name();
    switch (token.kind) {
      case TokenKind::kInt:
      case TokenKind::kUint:
      case TokenKind::kFloat:
        return NumberLiteral();
      case TokenKind::kString:
      case TokenKind::kBytes:
        return TextLiteral();
      case TokenKind::kTrue:
      case TokenKind::kFalse:
      case TokenKind::kNull: {
        Expr* literal = New(ExprKind::kLiteral, Next());
        if (token.kind != TokenKind::kNull) literal->literal = Value::Bool(token.kind == TokenKind::kTrue);
        return literal;
      }
      default:
        break;
    }
    if (token.Is("-")) {
      Next();
      NoViable("-");
    }
    Unexpected(kExpressionTokens);
  }
  // True if a message literal begins here: names with dots, then a brace.
  bool IsMessage(std::size_t from) const {
    std::size_t i = from;
    while (Peek(i).kind == TokenKind::kIdentifier) {
      if (Peek(i + 1).Is("{")) return true;
      if (!Peek(i + 1).Is(".")) return false;
      i += 2;
    }
    return false;
  }
  Expr* Name() {
    const Token& start = Peek();
    const bool dot = Accept(".");
    if (Peek().kind != TokenKind::kIdentifier) NoViable(".");
    if (IsMessage(0)) return MessageLiteral(dot);
    const Token& token = Next();
    std::string name = (dot ? "." : "") + std::string(token.text);
    const bool reserved = IsReservedWord(token.text);
    if (reserved) issues_.push_back({start.offset, "reserved identifier: " + std::string(token.text), 0});
    if (!Peek().Is("(")) {
      Expr* ident = New(ExprKind::kIdent, token);
      ident->name = ast_->Keep(name);
      return ident;
    }
    const Token& open = Next();
    std::vector<Expr*> args = Arguments();
    const int depth = DeepestOf(args, nullptr);
    Expr* result = dot ? nullptr : ExpandMacro(*ast_, options_, open.offset, name, nullptr, args, issues_);
    if (!result) result = Call(ast_->Keep(name), open, std::move(args));
    result->visit_depth = static_cast<std::uint16_t>(depth);
    return result;
  }
  Expr* MessageLiteral(bool dot) {
    std::string name = dot ? "." : "";
    while (true) {
      name += Next().text;
      if (Peek().Is("{")) break;
      name += Next().text;
    }
    Expr* message = New(ExprKind::kStruct, Next());
    message->name = ast_->Keep(name);
    while (!Peek().Is("}") && !Peek().Is(",")) {
      const bool optional = options_.optional_syntax && Accept("?");
      const Token& field = Peek();
      if (field.kind != TokenKind::kIdentifier && field.kind != TokenKind::kEscapedIdentifier)
        Unexpected("{IDENTIFIER, ESC_IDENTIFIER}");
      Next();
      const bool escaped = field.kind == TokenKind::kEscapedIdentifier;
      message->field_names.push_back(
          ast_->Keep(escaped ? field.text.substr(1, field.text.size() - 2) : field.text));
      message->entry_offsets.push_back(Peek().offset);
      Expect(":");
      message->args.push_back(Expression());
      message->optional.push_back(optional);
      if (!Peek().Is(",")) break;
      if (!Peek(1).Is("}")) Next();
    }
    Accept(",");
    Expect("}");
    return Depth(message, {}, 0);
  }
  Expr* ListLiteral() {
    Expr* list = New(ExprKind::kList, Next());
    while (!Peek().Is("]") && !Peek().Is(",")) {
      list->optional.push_back(options_.optional_syntax && Accept("?"));
      list->args.push_back(Expression());
      if (!Peek().Is(",")) break;
      if (!Peek(1).Is("]")) Next();
    }
    Accept(",");
    if (!Accept("]")) Unexpected(list->args.empty() ? "']'" : "{']', ','}");
    if (std::find(list->optional.begin(), list->optional.end(), 1) == list->optional.end())
      list->optional.clear();
    return Depth(list, {}, 0);
  }
  Expr* MapLiteral() {
    Expr* map = New(ExprKind::kMap, Next());
    while (!Peek().Is("}") && !Peek().Is(",")) {
      map->optional.push_back(options_.optional_syntax && Accept("?"));
      map->args.push_back(Expression());
      map->entry_offsets.push_back(Peek().offset);
      Expect(":");
      map->args.push_back(Expression());
      if (!Peek().Is(",")) break;
      if (!Peek(1).Is("}")) Next();
    }
    Accept(",");
    if (!Accept("}")) Unexpected("{'}', ','}");
    return Depth(map, {}, 0);
  }
  Expr* NumberLiteral() {
    const Token& start = Peek();
    std::string text = Accept("-") ? "-" : "";
    const Token& token = Next();
    std::string_view digits = token.text;
    Expr* literal = New(ExprKind::kLiteral, start);
    const auto fail = [&](std::string_view message) {
      issues_.push_back({start.offset, std::string(message), 0});
      return literal;
    };
    if (token.kind == TokenKind::kUint) digits.remove_suffix(1);
    const bool hexadecimal = token.kind != TokenKind::kFloat && digits.starts_with("0x");
    if (hexadecimal) digits.remove_prefix(2);
    text += digits;
    const int base = hexadecimal ? 16 : 10;
    if (token.kind == TokenKind::kInt) {
      const auto value = ParseGoInt(text, base);
      if (!value) return fail("invalid int literal");
      literal->literal = Value::Int(*value);
    } else if (token.kind == TokenKind::kUint) {
      const auto value = ParseGoUint(text, base);
      if (!value) return fail("invalid uint literal");
      literal->literal = Value::Uint(*value);
    } else {
      const auto value = ParseGoDouble(text);
      if (!value) return fail("invalid double literal");
      literal->literal = Value::Double(*value);
    }
    return literal;
  }
  Expr* TextLiteral() {
    const Token& token = Next();
    const bool bytes = token.kind == TokenKind::kBytes;
    Expr* literal = New(ExprKind::kLiteral, token);
    std::string text, problem;
    if (!UnquoteLiteral(bytes ? token.text.substr(1) : token.text, bytes, &text, &problem))
      issues_.push_back({token.offset, std::move(problem), 0});
    const std::string_view kept = ast_->Keep(text);
    literal->literal = bytes ? Value::Bytes(kept) : Value::String(kept);
    return literal;
  }

  const ParserOptions& options_;
  std::vector<Issue>& issues_;
  std::vector<Token> tokens_;
  std::unique_ptr<Ast> ast_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<Ast> ParseExpression(std::string_view text, const ParserOptions& options,
                                     std::vector<Issue>& issues) {
  const std::size_t characters = CountCharacters(text);
  if (characters > kMaxExpressionCharacters) {
    issues.push_back({Issue::kNowhere,
                      "expression code point size exceeds limit: size: " + std::to_string(characters) +
                          ", limit " + std::to_string(kMaxExpressionCharacters),
                      0});
    return nullptr;
  }
  return Parser(text, options, issues).Run();
}

}  // namespace flyball::cel
