#include "cel/syntax/parser.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cel/schema/schema.h"
#include "cel/syntax/lexer.h"
#include "cel/syntax/literal.h"
#include "cel/syntax/macros.h"
#include "cel/syntax/token_reader.h"
#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

// What an expression may begin with.
constexpr TokenSet kStarts = TokenSet::Of({"[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT",
                                           "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER"});
constexpr TokenSet kNames = TokenSet::Of({"IDENTIFIER", "ESC_IDENTIFIER"});
constexpr TokenSet kQuestion = TokenSet::Of({"?"});
// What goes on with an operand.
constexpr TokenSet kBinary =
    TokenSet::Of({"==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "-", "+", "*", "/", "%"});
constexpr TokenSet kPostfix = TokenSet::Of({"[", "."});
// What ends or goes on with the entries of a map or message.
constexpr TokenSet kEndOfEntries = TokenSet::Of({"}", ","});
struct OperatorName {
  std::string_view text, function;
};
constexpr OperatorName kRelations[] = {{"<", "_<_"}, {"<=", "_<=_"}, {">=", "_>=_"},
                                       {">", "_>_"}, {"==", "_==_"}, {"!=", "_!=_"}};
constexpr OperatorName kSums[] = {{"+", "_+_"}, {"-", "_-_"}};
constexpr OperatorName kProducts[] = {{"*", "_*_"}, {"/", "_/_"}, {"%", "_%_"}};

class Parser : private TokenReader {
 public:
  Parser(std::string_view text, const ParserOptions& options, std::vector<Issue>& issues)
      : TokenReader(text, issues), options_(options), ast_(std::make_unique<Ast>()) {}

  std::unique_ptr<Ast> Run() {
    try {
      const TokenSet end = TokenSet::Of({"<EOF>"});
      ast_->root = Expression(end);
      if (Peek().kind != TokenKind::kEnd) Report(IsExtraneous(end) ? "extraneous" : "mismatched", end);
    } catch (const ParseStopped&) {
    }
    return issues_.empty() ? std::move(ast_) : nullptr;
  }

 private:
  // Runs one rule of the grammar. What it leaves when it failed is never evaluated.
  template <typename Rule>
  Expr* Try(TokenSet follow, Rule&& rule) {
    try {
      return rule();
    } catch (const RuleFailed&) {
      Recover(follow);
      return New(ExprKind::kLiteral, Peek());
    }
  }
  // What may come after an operand here.
  TokenSet AfterOperand() const { return kBinary | kPostfix | follow_; }

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

  // `follow`: what may come after it.
  Expr* Expression(TokenSet follow) {
    if (++depth_ > kMaxParseDepth)
      StopNowhere("expression recursion limit exceeded: " + std::to_string(kMaxParseDepth));
    const TokenSet outer = around_, outer_follow = follow_;
    around_ = around_ | follow;
    Expr* result = Try(around_, [&] { return Conditional(follow); });
    around_ = outer;
    follow_ = outer_follow;
    --depth_;
    return result;
  }
  Expr* Conditional(TokenSet follow) {
    follow_ = follow | kQuestion;
    Expr* condition = Or();
    if (!Peek().Is("?")) return condition;
    const Token& op = Next();
    const TokenSet outer = around_;
    follow_ = TokenSet::Of({":"});
    around_ = around_ | follow_;
    Expr* then = Or();
    around_ = outer;
    Expect(":", kStarts);
    Expr* otherwise = Expression(follow);
    return Counted(Call("_?_:_", op, {condition, then, otherwise}), {});
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
    return Try(around_ | follow_ | kBinary, [this] { return Sign(); });
  }
  Expr* Sign() {
    Sync(kStarts);
    const Token& first = Peek();
    // A minus before a number is part of it.
    if (!first.Is("!") && !(first.Is("-") && !IsNumber(Peek(1)))) return Member();
    const std::string_view op = first.text;
    std::size_t count = 0;
    while (Peek().Is(op)) {
      if (op == "-" && !kStarts.Has(Peek(1))) FailAfter();
      Next();
      ++count;
      // Not a choice but a loop: what does not fit is skipped.
      if (op == "!" && !kStarts.Has(Peek())) {
        Report("extraneous", kStarts);
        Recover(kStarts | around_ | follow_ | kBinary);
      }
    }
    Expr* operand = Member();
    if (count % 2 == 0) return operand;
    return Depth(Call(op == "!" ? "!_" : "-_", first, {operand}), {}, 0);
  }
  // What was read before a part failed stays: macros look at it.
  Expr* Member() {
    Expr* expr = Primary();
    Try(around_ | follow_ | kBinary, [&] { return Parts(expr); });
    return expr;
  }
  Expr* Parts(Expr*& expr) {
    while (true) {
      if (Peek().Is(".")) {
        expr = Select(expr);
      } else if (Peek().Is("[")) {
        const Token& op = Next();
        Sync(kStarts | kQuestion);
        const bool optional = options_.optional_syntax && Accept("?");
        Expr* index = Expression(TokenSet::Of({"]"}));
        Expect("]", AfterOperand());
        expr = Counted(Call(optional ? "_[?_]" : "_[_]", op, {expr, index}), {});
      } else {
        return expr;
      }
    }
  }
  Expr* Select(Expr* operand) {
    const Token& dot = Peek();
    if (!(kNames | kQuestion).Has(Peek(1))) FailAfter();
    Next();
    const bool optional = options_.optional_syntax && Accept("?");
    if (!kNames.Has(Peek()) && !IsExtraneous(kNames)) {
      Report("mismatched", kNames);
      issues_.push_back({Peek().offset, "unsupported ident kind", 0});
      throw RuleFailed();
    }
    Sync(kNames);
    const Token& field = Next();
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
  // What stands between parentheses, which are taken too. Macros look at what was read before it failed.
  std::vector<Expr*> Arguments() {
    std::vector<Expr*> args;
    Try(around_ | AfterOperand(), [&] {
      ReadArguments(args);
      return nullptr;
    });
    return args;
  }
  void ReadArguments(std::vector<Expr*>& args) {
    Sync(kStarts | TokenSet::Of({")"}));
    if (Accept(")")) return;
    do {
      args.push_back(Expression(TokenSet::Of({",", ")"})));
    } while (Accept(","));
    Expect(")", AfterOperand());
  }
  Expr* Primary() {
    return Try(around_ | AfterOperand(), [this] { return PrimaryChoice(); });
  }
  Expr* PrimaryChoice() {
    const Token& token = Peek();
    if (token.Is("(")) {
      Next();
      Expr* expr = Expression(TokenSet::Of({")"}));
      Expect(")", AfterOperand());
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
    Unexpected(kStarts.Without(TokenSet::Of({"!"})));
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
    if (start.Is(".") && Peek(1).kind != TokenKind::kIdentifier) FailAfter();
    const bool dot = Accept(".");
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
    const TokenSet fields = kNames | kQuestion;
    Sync(fields | kEndOfEntries);
    while (fields.Has(Peek())) {
      const bool optional = options_.optional_syntax && Accept("?");
      const Token& field = Peek();
      if (!kNames.Has(field)) Unexpected(kNames);
      Next();
      const bool escaped = field.kind == TokenKind::kEscapedIdentifier;
      message->field_names.push_back(
          ast_->Keep(escaped ? field.text.substr(1, field.text.size() - 2) : field.text));
      message->entry_offsets.push_back(Peek().offset);
      Expect(":", kStarts);
      message->args.push_back(Expression(kEndOfEntries));
      message->optional.push_back(optional);
      if (!AcceptMore(fields)) break;
    }
    EndEntries("}");
    return Depth(message, {}, 0);
  }
  // A comma that another entry comes after; the last one stands alone.
  bool AcceptMore(TokenSet entry) { return Peek().Is(",") && entry.Has(Peek(1)) && Accept(","); }
  void EndEntries(std::string_view end) {
    Sync(TokenSet::Of({end, ","}));
    Accept(",");
    Expect(end, AfterOperand());
  }
  Expr* ListLiteral() {
    Expr* list = New(ExprKind::kList, Next());
    Try(around_ | AfterOperand(), [&] { return ReadElements(list); });
    if (std::find(list->optional.begin(), list->optional.end(), 1) == list->optional.end())
      list->optional.clear();
    return Depth(list, {}, 0);
  }
  Expr* ReadElements(Expr* list) {
    const TokenSet entry = kStarts | kQuestion, after = TokenSet::Of({"]", ","});
    Sync(entry | after);
    while (entry.Has(Peek())) {
      list->optional.push_back(options_.optional_syntax && Accept("?"));
      list->args.push_back(Expression(after));
      if (!AcceptMore(entry)) break;
    }
    EndEntries("]");
    return list;
  }
  Expr* MapLiteral() {
    Expr* map = New(ExprKind::kMap, Next());
    const TokenSet entry = kStarts | kQuestion;
    Sync(entry | kEndOfEntries);
    while (entry.Has(Peek())) {
      map->optional.push_back(options_.optional_syntax && Accept("?"));
      map->args.push_back(Expression(TokenSet::Of({":"})));
      map->entry_offsets.push_back(Peek().offset);
      Expect(":", kStarts);
      map->args.push_back(Expression(kEndOfEntries));
      if (!AcceptMore(entry)) break;
    }
    EndEntries("}");
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
  std::unique_ptr<Ast> ast_;
  int depth_ = 0;
  // What may come after the innermost expression, and after any of those under way.
  TokenSet follow_, around_;
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
