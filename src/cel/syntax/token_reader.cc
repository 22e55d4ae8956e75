#include "cel/syntax/token_reader.h"

#include <utility>

namespace flyball::cel {
namespace {

// How many tokens upstream's parser skips after an error before it gives up.
constexpr std::size_t kMaxSkippedTokens = 256;

}  // namespace

bool TokenReader::Accept(std::string_view op) {
  if (!Peek().Is(op)) return false;
  Next();
  return true;
}

void TokenReader::AddIssue(std::string message) {
  if (std::exchange(recovering_, true)) return;
  // Upstream reports the end of nothing one column early.
  const bool blank = Peek().kind == TokenKind::kEnd && Peek().offset == 0;
  issues_.push_back({Peek().offset, std::move(message), blank ? -1 : 0});
}

void TokenReader::Report(std::string_view what, TokenSet expected) {
  AddIssue("Syntax error: " + std::string(what) + " input '" + std::string(Peek().text) + "' expecting " +
           expected.ToString());
}

void TokenReader::LeaveOut(TokenSet expected) {
  Report("extraneous", expected);
  Skip();
  recovering_ = false;
}

void TokenReader::Unexpected(TokenSet expected) {
  Report("mismatched", expected);
  throw RuleFailed();
}

void TokenReader::Sync(TokenSet expected) {
  if (expected.Has(Peek()) || recovering_) return;
  if (!IsExtraneous(expected)) Unexpected(expected);
  LeaveOut(expected);
}

void TokenReader::Expect(std::string_view op, TokenSet after) {
  if (Accept(op)) return;
  const TokenSet expected = TokenSet::Of({op});
  if (IsExtraneous(expected)) {
    LeaveOut(expected);
    Next();
  } else if (after.Has(Peek())) {
    AddIssue("Syntax error: missing '" + std::string(op) + "' at '" + std::string(Peek().text) + "'");
  } else {
    Unexpected(expected);
  }
}

void TokenReader::FailAfter() {
  const Token& from = Skip();
  ReportNoViable(from);
  --at_;
  throw RuleFailed();
}

// `from`: the token that the choice began at.
void TokenReader::ReportNoViable(const Token& from) {
  const Token& token = Peek();
  if (token.kind == TokenKind::kTrue || token.kind == TokenKind::kFalse || token.kind == TokenKind::kNull)
    return Report("mismatched", TokenSet::Of({"IDENTIFIER"}));
  std::string_view shown = from.text;
  if (token.kind != TokenKind::kEnd)
    shown = text_.substr(from.offset, token.offset + token.text.size() - from.offset);
  AddIssue("Syntax error: no viable alternative at input '" + std::string(shown) + "'");
}

void TokenReader::StopNowhere(std::string message) {
  issues_.push_back({Issue::kNowhere, std::move(message), 0});
  throw ParseStopped();
}

void TokenReader::Recover(TokenSet follow) {
  for (std::size_t skipped = 0; !follow.Has(Peek()); ++skipped) {
    if (Peek().kind == TokenKind::kEnd) return;
    if (skipped > kMaxSkippedTokens)
      StopNowhere("error recovery token lookahead limit exceeded: " + std::to_string(kMaxSkippedTokens));
    Skip();
  }
}

}  // namespace flyball::cel
